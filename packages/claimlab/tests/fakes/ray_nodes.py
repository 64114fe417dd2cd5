"""A Ray cluster of two nodes on this machine, each with one core: prints its address, and goes when nobody writes to it."""

import sys

NODE = {"num_cpus": 1, "object_store_memory": 200 * 2**20}

if __name__ == "__main__":
    from ray.cluster_utils import Cluster

    cluster = Cluster(initialize_head=True, head_node_args={**NODE, "include_dashboard": False})
    cluster.add_node(**NODE)
    print(f"address {cluster.address}", flush=True)
    sys.stdin.read()
    cluster.shutdown()
