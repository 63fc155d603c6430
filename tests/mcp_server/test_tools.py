import inspect

from vbcgcd.mcp_server.tools import NEEDS, READ, WRITE, Tools


def test_the_table_names_every_tool_and_each_is_described():
    methods = [name for name, _ in inspect.getmembers(Tools, inspect.isfunction) if not name.startswith("_")]
    assert sorted((*READ, *NEEDS, *WRITE)) == sorted(methods)
    assert all(inspect.getdoc(getattr(Tools, name)) for name in methods)
    assert not set(READ) & set(WRITE)
