"""A boot on record, with everything in it that must never leave the machine."""

from moet_boot.guard.sample import Action, Sample
from moet_boot.guard.spool import SpoolWriter
from moet_boot.phases import Phase
from moet_boot.profile.resolve import resolve_profile
from moet_boot.receipts.model import Attempt, CurvePoint, Failure, GuardAction, PlanRecord, Receipt, Versions
from moet_boot.receipts.store import ReceiptStore
from moet_boot.report.identity import Identity
from moet_boot.supervise.opening import profile_digest

HF_TOKEN = "hf_PlantedTokenOfTheHub123456"
API_KEY = "planted-api-key-of-the-server"
SECOND_KEY = "planted-second-key"
ENV_SECRET = "planted-value-of-a-variable"
PASSWORD = "planted-password"
NGC_KEY = "nvapi-PlantedKeyOfTheRegistry"
HOST = "plantedhost7"
USER = "planteduser"
OTHER_USER = "plantedother"
IPV4 = "203.0.113.77"
IPV6 = "2001:db8:77::42"
MAC = "02:42:ac:11:77:02"
MAIL = "planted@person.example"
PROXY = "proxy.planted.example"
MACHINE_ID = "d41d8cd98f00b204e9800998ecf8427e"
GPU_UUID = "7f0a1b2c-1234-4000-8000-0123456789ab"
HOME = f"/srv/homes/{USER}"
COMMIT = "60d8d70770c6776ff598c94bb586a859a38244f1"

PLANTED = {
    "hub token": HF_TOKEN,
    "api key": API_KEY,
    "second api key": SECOND_KEY,
    "variable": ENV_SECRET,
    "password": PASSWORD,
    "registry key": NGC_KEY,
    "host": HOST,
    "user": USER,
    "other user": OTHER_USER,
    "IPv4": IPV4,
    "IPv6": IPV6,
    "MAC": MAC,
    "mail": MAIL,
    "proxy": PROXY,
    "machine id": MACHINE_ID,
    "GPU UUID": GPU_UUID,
    "home": HOME,
}

IDENTITY = Identity(HOME, frozenset({HOST, USER}), frozenset({ENV_SECRET}))

ENVIRONMENT = {"HF_TOKEN": HF_TOKEN, "MY_SECRET": ENV_SECRET, "HOSTNAME": HOST, "USER": USER}

OVERRIDES = [f"VLLM_API_KEY={API_KEY}"]

LOG = f"""\
INFO 11-29 15:24:53 [utils.py:278] non-default args: {{'host': '0.0.0.0', 'api_key': ['{API_KEY}', '{SECOND_KEY}']}}
\x1b[32mINFO\x1b[0m command: vllm serve /model --api-key {API_KEY} {SECOND_KEY} --port 8000 --max-num-seqs 4
INFO HF_TOKEN={HF_TOKEN} and a bare {HF_TOKEN}, {NGC_KEY}, then {ENV_SECRET}
INFO "GET /v1/models" Authorization: Bearer {API_KEY}
INFO loading {HOME}/models/x.safetensors and /home/{OTHER_USER}/cache at revision {COMMIT}
INFO master_addr={IPV4} tcp://{IPV4}:29500 [{IPV6}]:8000 listening on 127.0.0.1:8000 of {HOST}.lan
INFO proxy http://me:{PASSWORD}@{PROXY}:3128 of {MAIL}, link {MAC}, machine {MACHINE_ID}, GPU-{GPU_UUID}
ERROR ValueError: the KV cache needs 8192 tokens, max_num_batched_tokens=2048
"""


def plant(store: ReceiptStore, profile: str = "demo", now: float = 1e9) -> str:
    """Put a failed boot on record; returns its id."""
    receipt_id, folder = store.create_folder(profile, now=now)
    store.write(_receipt(receipt_id))
    (folder / "server-1.log").write_text(LOG)
    (folder / "guard-1.ndjson").write_text(f'{{"at_s": 1.5, "action": "kill", "reason": "of {HOME}/x on {HOST}"}}\n')
    spool = SpoolWriter(folder / "samples-1.spool", capacity=8)
    spool.append(Sample(0.5, 20 << 30, 10 << 30, 0, 0.25, 1 << 30), Phase.STARTING)
    spool.append(Sample(0.75, 1 << 30), Phase.LOADING_WEIGHTS, Action.KILL)
    spool.close()
    return receipt_id


def _receipt(receipt_id: str) -> Receipt:
    return Receipt(
        id=receipt_id,
        created_at="2026-01-01T00:00:00+00:00",
        supervisor_pid=1,
        supervisor_start=0.0,
        profile="demo",
        profile_digest=profile_digest(resolve_profile("demo", None, OVERRIDES, env={})),
        overrides=OVERRIDES,
        versions=Versions(moet_boot="0", python="3"),
        plan=PlanRecord(
            digest="ab" * 32,
            runtime="process",
            argv=["vllm", "serve", f"{HOME}/model", "--api-key", API_KEY, SECOND_KEY, "--port", "8000"],
            env={"HF_TOKEN": HF_TOKEN, "VLLM_MOE_W2": "1", "HTTP_PROXY": f"http://me:{PASSWORD}@{PROXY}:3128"},
            mounts=[{"source": f"/home/{OTHER_USER}/model", "target": "/model"}],
            url=f"http://{IPV4}:8000",
        ),
        verdict="warn",
        snapshot={"checkpoint": {"path": f"{HOME}/model", "revision": COMMIT}, "errors": {"x": f"{MACHINE_ID} {MAC}"}},
        attempts=[
            Attempt(
                started_at="2026-01-01T00:00:01+00:00",
                ended_after_s=3.0,
                guard_actions=[GuardAction(at_s=1.5, action="kill", reason=f"memory fell on {HOST}")],
                failure=Failure(kind="memory", sentence="killed", evidence=LOG),
                curve=[CurvePoint(t_s=0.5, available_bytes=1, free_bytes=1)],
            )
        ],
        outcome="guard",
        outcome_reason=f"killed for {USER} at {IPV6}",
        exit_code=8,
    )
