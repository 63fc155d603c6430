"""Addresses, sockets and the command."""

import socket
import subprocess
import sys
import urllib.request

import pytest

from vbcgcd.errors import InputError
from vbcgcd.web.server import addresses, open_socket


def test_names_of_this_server():
    assert "127.0.0.1:80" in addresses("127.0.0.1", 80)
    assert "box:80" not in addresses("0.0.0.0", 80)
    assert {"box:80", "box"} <= addresses("0.0.0.0", 80, ["Box"])
    assert "10.0.0.5:80" in addresses("10.0.0.5", 80)


def test_a_port_that_is_taken_is_one_clear_error():
    with socket.create_server(("127.0.0.1", 0)) as taken, pytest.raises(InputError) as caught:
        open_socket("127.0.0.1", taken.getsockname()[1])
    assert caught.value.option == "port"


def test_serving_others_has_to_be_asked_for(desk):
    command = [
        sys.executable,
        "-m",
        "vbcgcd",
        "serve",
        "--host",
        "0.0.0.0",
        "--workspace",
        str(desk.path),
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "--allow-network" in done.stderr


def test_the_command_prints_one_address_that_opens(desk):
    command = [sys.executable, "-m", "vbcgcd", "serve", "--no-browser", "--workspace", str(desk.path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as server:
        try:
            address = server.stdout.readline().strip()
            assert address.startswith("http://127.0.0.1:")
            for _ in range(100):
                try:
                    opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor())
                    page = opener.open(address, timeout=10).read().decode()
                    break
                except ConnectionError:
                    pass
            assert "<title>vbcgcd</title>" in page
        finally:
            server.terminate()
        assert server.stdout.read() == ""
