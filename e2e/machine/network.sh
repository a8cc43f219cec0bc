# Run in namespaces of its own, of mounts, processes and network. What it makes is seen by nobody else, and
# the kernel takes it away with the last line.
set -e
mount -t tmpfs -o mode=0755 tmpfs /run # also /run/netns: names are ours alone
mount -t tmpfs tmpfs /dev/shm            # every squid gives its shared memory the same name
mkdir "$DIR"

for name in corp cluster dmz internet; do
	ip netns add $name
	ip -n $name link set lo up
done

connect() { # namespace, interface, address; the same of the other end
	ip link add "$2" netns "$1" type veth peer name "$5" netns "$4"
	ip -n "$1" address add "$3" dev "$2"
	ip -n "$4" address add "$6" dev "$5"
	ip -n "$1" link set "$2" up
	ip -n "$4" link set "$5" up
}
connect corp eth0 "$CORP/24" dmz inner "$PROXY/24"
connect dmz outer 203.0.113.2/24 internet eth0 "$INTERNET/24"
ip -n internet address add "$HUB/24" dev eth0
connect corp eth1 172.16.0.10/16 cluster eth0 172.16.0.1/16

# A service and the control plane's endpoint. No namespace has a default route.
for address in "$SERVICE" "$ENDPOINT"; do
	ip -n cluster address add "$address/32" dev eth0
	ip -n corp route add "$address/32" dev eth1
done

# What corp knows by name. Nobody answers a question of DNS.
printf '%s\n' '127.0.0.1 localhost' "$SERVICE $SERVICE_NAME" "$PROXY $PROXY_NAME" >"$DIR/hosts"
mount --bind "$DIR/hosts" /etc/hosts
: >"$DIR/resolv.conf"
[ ! -e /etc/resolv.conf ] || mount --bind "$DIR/resolv.conf" /etc/resolv.conf # it may lead to the /run that was

echo ready
exec sleep infinity
