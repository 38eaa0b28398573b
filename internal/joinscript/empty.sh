# SPDX-License-Identifier: MPL-2.0
#
# Without a snapshot, in place of restore.sh: an initial member begins empty.

# Ends what an interrupted restore has left.
end_restore() { :; }
# What a founder of a static cluster does before etcd starts.
begin() { mark_start; }
