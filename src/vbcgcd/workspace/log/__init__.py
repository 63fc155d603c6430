"""The log of a workspace on the disk: numbered commits, a lock, export and import."""
