"""The commands that change a workspace: from a snapshot to a draft of the next commit. Nothing is written here."""
