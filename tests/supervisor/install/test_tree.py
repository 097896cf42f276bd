"""The hash of an installation is made as the hash of trusted content is."""

from __future__ import annotations

from typing import TYPE_CHECKING

from supervisor.discovery.content.content_hash import hash_content
from supervisor.install.tree import content_hash, files

if TYPE_CHECKING:
    from pathlib import Path


def test_files_and_links_of_one_folder_have_the_same_hash_for_install_and_trust(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("x")
    (tmp_path / "run").write_text("y")
    (tmp_path / "run").chmod(0o755)
    (tmp_path / "link").symlink_to("a")
    before = content_hash(tmp_path, files(tmp_path))
    assert before == hash_content(tmp_path).hash
    assert content_hash(tmp_path, [*files(tmp_path), "missing"]) != before
    (tmp_path / "run").chmod(0o644)
    assert content_hash(tmp_path, files(tmp_path)) == hash_content(tmp_path).hash != before
