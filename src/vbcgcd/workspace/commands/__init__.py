"""The commands that change a workspace: from a snapshot to the draft of a commit. Nothing is written here."""
