"""The certificates are loaded once, and again only for other places."""

from __future__ import annotations

import ssl

import pytest

from agent.model.worker import tls


@pytest.fixture(autouse=True)
def nothing_loaded(monkeypatch):
    monkeypatch.setattr(tls, "_loaded", {})
    for variable in tls.VARIABLES:
        monkeypatch.delenv(variable, raising=False)


def test_the_context_is_loaded_once_and_checks_the_server():
    context = tls.context()
    assert tls.context() is context
    assert context.verify_mode is ssl.CERT_REQUIRED
    assert context.check_hostname


def test_another_place_of_certificates_makes_another_context(monkeypatch, tmp_path):
    usual = tls.context()
    monkeypatch.setenv("SSL_CERT_DIR", str(tmp_path))
    of_folder = tls.context()
    assert of_folder is not usual
    monkeypatch.delenv("SSL_CERT_DIR")
    assert tls.context() is usual


def test_a_file_without_certificates_is_an_error(monkeypatch, tmp_path):
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "none.pem"))
    with pytest.raises(OSError, match="No such file"):
        tls.context()


def test_plain_connections_load_no_certificates():
    assert tls.no_tls().cert_store_stats()["x509_ca"] == 0
    assert not tls._loaded
