# Without a discovery cluster.

locals {
  discovery = null
}
