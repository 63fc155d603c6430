"""What other programs ask: plug-ins and the server for assistants; schemas have tests of their own."""

import sys

import pytest

from vbcgcd.plugins import PluginInfo


def test_no_plug_ins(run, run_json, monkeypatch):
    monkeypatch.setattr("vbcgcd.plugins.entry_points", lambda *, group: [])
    assert run("plugins").stdout == "No plug-ins are installed.\n"
    assert run_json("plugins")["plugins"] == []


def test_plug_ins_with_their_package_and_what_is_wrong(run, run_json, monkeypatch):
    infos = [
        PluginInfo("reader", "xml", "tickets", "1.2", "tickets:read", ""),
        PluginInfo("namer", "llm", "", "", "names:make", "The namer 'llm' could not be loaded.\nReally."),
    ]
    monkeypatch.setattr("vbcgcd.plugins.list_plugins", lambda: infos)
    lines = [line.split() for line in run("plugins").stdout.splitlines()]
    assert lines[2:4] == [["reader", "xml", "tickets", "1.2", "yes"], ["namer", "llm", "names:make", "no"]]
    assert " ".join(lines[-1]) == "The namer 'llm' could not be loaded. Really."
    assert run_json("plugins")["plugins"][1]["problem"].endswith("Really.")


def test_the_server_needs_a_workspace_and_its_package(run, animals, place, monkeypatch):
    pytest.importorskip("mcp")
    monkeypatch.setitem(sys.modules, "mcp.server.mcpserver", None)
    assert "pip install 'vbcgcd[mcp]'" in run("mcp", code=2).stderr
    monkeypatch.chdir(place)
    assert "is a workspace" in run("mcp", code=2).stderr


def test_the_server_gets_the_workspace_and_whether_it_may_write(run, animals, monkeypatch):
    calls = []
    monkeypatch.setattr("vbcgcd.mcp_server.serve", lambda path, **options: calls.append((path, options)))
    run("mcp")
    run("--wait", 9, "mcp", "--write")
    assert calls == [(animals, {"write": False, "wait": 0.0}), (animals, {"write": True, "wait": 9.0})]
