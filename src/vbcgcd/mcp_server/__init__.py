"""A workspace for assistants, over the Model Context Protocol: read-only unless the user says otherwise."""

from vbcgcd.mcp_server.server import make_server, serve

__all__ = ["make_server", "serve"]
