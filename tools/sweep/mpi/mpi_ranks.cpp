/// The ranks of an MPI job, through Boost.MPI: a library of its own, which `open_ranks` loads.
#include <boost/mpi/communicator.hpp>
#include <boost/mpi/environment.hpp>
#include <memory>
#include <optional>
#include <string>

#include "tools/sweep/ranks.hpp"

namespace vtrain {
namespace {

constexpr int kTag = 1;

/// Only the thread that opened it may call it.
class MpiRanks : public Ranks {
 public:
  int rank() const override { return world_.rank(); }
  int size() const override { return world_.size(); }

  void send(int to, const std::string& bytes) override {
    world_.send(to, kTag, bytes.data(), static_cast<int>(bytes.size()));
  }

  std::optional<RankMessage> receive() override {
    const auto arrived = world_.iprobe(boost::mpi::any_source, kTag);
    if (!arrived) return std::nullopt;
    const auto size = arrived->count<char>();
    RankMessage message{arrived->source(), std::string(static_cast<std::size_t>(size.value_or(0)), '\0')};
    world_.recv(message.from, kTag, message.bytes.data(), static_cast<int>(message.bytes.size()));
    return message;
  }

 private:
  boost::mpi::environment environment_{boost::mpi::threading::funneled};
  boost::mpi::communicator world_;
};

}  // namespace
}  // namespace vtrain

/// Opens the ranks of this process; the caller owns them.
extern "C" vtrain::Ranks* vtrain_open_ranks();

extern "C" vtrain::Ranks* vtrain_open_ranks() {
  return std::make_unique<vtrain::MpiRanks>().release();
}
