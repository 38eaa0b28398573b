# SPDX-License-Identifier: MPL-2.0
#
# Without a registry, in place of discovery.sh: what the run asks of one.

# Sets bootstrap and registry, if the environment tells a registry.
find_registry() {
	[ "$founder" = 0 ] || [ -z "${ETCD_DISCOVERY:-}${ETCD_DISCOVERY_TOKEN:-}" ] || never "this join script is for a static bootstrap, and the environment has ETCD_DISCOVERY variables"
}
# Asks the registry, before the peers are asked.
ask_registry() { :; }
# Changes the verdict, if the registry knows more than the peers.
trust_registry() { :; }
# What found does for a founder with a registry.
found_in_registry() { :; }
