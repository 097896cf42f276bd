import os, sys
sys.path.insert(0,'/work/wt/batch')
from tests.e2e.batch.test_shared_extensions import *
from tests.support.zot_fixtures import server, zot
N=int(os.environ.get("N","3"))
def test_m(zot, batch):
    import pathlib
    es=[]
    for i in range(N):
        es += ["-e", put_teller(zot, f"e{i}", sessions=os.environ.get("MODE","shared"))]
    ids=[f"t{n}" for n in range(30)]
    batch.tasks(dict.fromkeys(ids, "e0" if N else "nothing"))
    found = batch.run("-j","1","--no-progress",*es)
    assert found.status==0, found.stderr
