"""A whole Milvus 2.3.5 with its log in a Kafka and its files in bucket a-bucket, under files/, of an S3 store.

Compaction is off: what it wrote stays as it was. It serves until SIGTERM.
"""
import argparse
import ctypes
import functools
import os
import signal
import subprocess
import sys
import time

import milvus
from milvus import MilvusServer, MilvusServerConfig

DATA = os.path.join(os.path.dirname(milvus.__file__), "data")


def template(args):
    with open(os.path.join(DATA, "config.yaml.template")) as f:
        text = f.read()
    kafka = (f"kafka:\n  brokerList: {args.kafka}\n  saslUsername:\n  saslPassword:\n"
             "  saslMechanisms:\n  securityProtocol:\n  readTimeout: 10\n\n")
    for old, new in (
        ("  type: rocksmq\n", "  type: kafka\n\n" + kafka),
        ("storageType: local", "storageType: remote"),
        ("port: 9000 # Port of MinIO/S3", "port: " + args.s3.split(":")[1]),
        ("enableCompaction: true", "enableCompaction: false"),
        ("dmlChannelNum: 16", f"dmlChannelNum: {args.channels}"),
    ):
        if old not in text:
            sys.exit(f"the template of the configuration has no {old!r}")
        text = text.replace(old, new, 1)
    return text


def die_with_parent():
    """Runs in Milvus before it starts: it must not outlive this process, even when that is killed."""
    ctypes.CDLL("libc.so.6").prctl(1, signal.SIGKILL)


def main():
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("dir")
    p.add_argument("--port", type=int, required=True)
    p.add_argument("--kafka", required=True)
    p.add_argument("--s3", required=True)
    p.add_argument("--channels", type=int, default=2)
    args = p.parse_args()
    os.makedirs(args.dir, exist_ok=True)
    path = os.path.join(args.dir, "template.yaml")
    with open(path, "w") as f:
        f.write(template(args))
    config = MilvusServerConfig(template=path, data_dir=os.path.abspath(args.dir), proxy_port=args.port)
    config.glog_conf_file = os.path.join(DATA, "glog.conf")
    subprocess.Popen = functools.partial(subprocess.Popen, preexec_fn=die_with_parent)
    server = MilvusServer(config)
    server.start()
    print("ready", server.listen_port, flush=True)

    def stop(*_):
        server.stop()
        sys.exit(0)

    signal.signal(signal.SIGTERM, stop)
    while True:
        time.sleep(1)


if __name__ == "__main__":
    main()
