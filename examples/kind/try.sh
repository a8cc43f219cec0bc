#!/usr/bin/env bash
# Fairlead on your laptop: kind, Cluster API with its Docker provider, and a squid in a container. README.md has what it needs.
#
#   examples/kind/try.sh up      a management cluster with Fairlead, and a proxy beside it
#   examples/kind/try.sh cluster a workload cluster whose machines leave through the proxy
#   examples/kind/try.sh down    removes all of it
set -euo pipefail
cd "$(dirname "$0")/../.."

name=fairlead-try
squid=fairlead-try-squid
account=demo:demo-password
# Every program works on this cluster alone, whatever your current context is.
export KUBECONFIG="$PWD/.cache/$name.kubeconfig"
mkdir -p .cache

for program in docker kind kubectl helm clusterctl; do
	command -v "$program" >/dev/null || { echo "try.sh: $program is missing" >&2; exit 1; }
done

# The network that kind and the Docker provider put all nodes into.
network() { docker network inspect kind --format '{{range .IPAM.Config}}{{println .Subnet}}{{end}}' | grep -v :; }
proxy() { docker inspect "$squid" --format '{{.NetworkSettings.Networks.kind.IPAddress}}'; }

up() {
	kind create cluster --name "$name" --kubeconfig "$KUBECONFIG" --config examples/kind/kind.yaml
	docker run --detach --name "$squid" --network kind --volume "$PWD/examples/kind/squid.conf:/etc/squid/squid.conf:ro" \
		--volume "$PWD/examples/kind/users:/etc/squid/users:ro" "${SQUID_IMAGE:-ubuntu/squid:latest}"
	clusterctl init --infrastructure docker --wait-providers
	[ -e .cache/images/fairlead-operator.tar ] || make image
	kind load image-archive .cache/images/fairlead-operator.tar --name "$name"
	helm upgrade --install fairlead charts/fairlead --namespace fairlead-system --create-namespace --wait \
		--values examples/kind/values.yaml \
		--set "proxy.http=http://$account@$(proxy):3128" --set "proxy.https=http://$account@$(proxy):3128" \
		--set "proxy.noProxy={$(network | paste -sd, -)}"
	kubectl wait corporateproxy default --for condition=Ready --timeout 120s
}

cluster() {
	kind export kubeconfig --name "$name" --kubeconfig "$KUBECONFIG"
	kubectl create namespace org-acme --dry-run=client --output yaml | kubectl apply --filename -
	kubectl apply --filename examples/providers/docker.yaml
	kubectl wait proxyreport mycluster --namespace org-acme --for create --timeout 60s # kubectl 1.31
	kubectl wait proxyreport mycluster --namespace org-acme --for condition=Ready --timeout 600s
	kubectl get proxyreports --all-namespaces
	echo "Who leaves through the proxy: docker exec $squid tail -f /var/log/squid/access.log"
}

down() {
	if kind get clusters | grep -x "$name" >/dev/null; then
		{
			kind export kubeconfig --name "$name" --kubeconfig "$KUBECONFIG" &&
				kubectl delete cluster mycluster --namespace org-acme --ignore-not-found --timeout 300s # its machines are containers
		} || true
		kind delete cluster --name "$name" --kubeconfig "$KUBECONFIG"
	fi
	docker rm --force "$squid"
}

case "${1:-}" in
up | cluster | down) "$1" ;;
*) echo "usage: $0 up|cluster|down" >&2 && exit 2 ;;
esac
