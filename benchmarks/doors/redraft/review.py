import json
import subprocess
import time
from urllib.request import Request, urlopen

API, HEAD = (
    "http://127.0.0.1:8799/api/runs",
    {"authorization": "Bearer secret-token", "content-type": "application/json"},
)


def call(path="", body=None):
    data = None if body is None else json.dumps(body).encode()
    return json.load(urlopen(Request(API + path, data, HEAD)))


def status(run, *ends):
    while (told := call(f"/{run}")["status"]) not in ends:
        time.sleep(0.5)
    return told


studio = subprocess.Popen(["redraft", "studio", "--port", "8799", "--token", "secret-token"], stderr=subprocess.PIPE)
studio.stderr.readline()
texts = {"text": open("document.txt").read(), "summary": "The keeper number 2 is called Bob."}
run = call(body={"kind": "refine", "goals": {"consistency": 0.9}, "review": True} | texts)["run"]
status(run, "waiting")
print(call(f"/{run}/review")["question"]["findings"])
call(f"/{run}/review", {"add": ["Name the first keeper."]})
print(status(run, "waiting", "done"))
studio.terminate()
