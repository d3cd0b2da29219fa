// Any bytes give an error with a message, or a tree whose parents stand before their children, with factors
// from 0 to 1; so do usage and parents.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "policies/tenants/slurm/associations.hpp"
#include "policies/tenants/slurm/fair_share.hpp"

namespace slurm = vtrain::slurm;

namespace {

void check_tree(slurm::AssociationTree tree, const std::string& text) {
  for (std::uint32_t i = 0; i < tree.list().size(); ++i) {
    if (tree[i].parent && *tree[i].parent >= i) std::abort();
  }
  const auto usage = slurm::read_usage(text, "input", tree);
  if (!usage && usage.error().message.empty()) std::abort();
  for (const slurm::FairShareKind kind : {slurm::FairShareKind::FairTree, slurm::FairShareKind::Classic,
                                          slurm::FairShareKind::DepthOblivious}) {
    for (const double factor : slurm::fair_share_factors(tree, {.fair_share = kind})) {
      if (!(factor >= 0 && factor <= 1)) std::abort();
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  slurm::TresNames names;
  const auto parents = slurm::parse_parents(text, "input");
  if (!parents && parents.error().message.empty()) std::abort();
  const auto table =
      slurm::parse_associations(text, "input", names, parents ? *parents : slurm::AccountParents());
  if (!table && table.error().message.empty()) std::abort();
  if (table) check_tree(*table, text);
  const auto dump = slurm::parse_association_dump(text, "input", names);
  if (!dump && dump.error().message.empty()) std::abort();
  if (dump) check_tree(*dump, text);
  return 0;
}
