"""The property list has what the host needs. launchd itself has not read one of ours."""

from __future__ import annotations

import plistlib

import pytest

from supervisor.service.launchd_plist import LABEL, is_ours, plist_text
from supervisor.service.systemd_unit import Service

SERVICE = Service(("/bin/python", "host", "--ext", "/a <b> & 'c' ü"), "/p", "/h", "/usr/bin")


def test_it_reads_back_as_it_was_meant():
    text = plist_text(SERVICE)
    found = plistlib.loads(text.encode())
    assert found["Label"] == LABEL
    assert found["ProgramArguments"] == list(SERVICE.argv)
    assert found["EnvironmentVariables"] == {"ZOT_HOME": "/h", "PATH": "/usr/bin"}
    assert "not tried" in text
    assert is_ours(text)
    assert not is_ours(plistlib.dumps(found).decode())


@pytest.mark.parametrize("path", ["/a\x01", "/\udcff"])
def test_a_path_that_no_list_can_hold_is_a_reason(path: str):
    with pytest.raises(ValueError, match=r"control characters|UTF-8"):
        plist_text(SERVICE._replace(argv=(path,)))
