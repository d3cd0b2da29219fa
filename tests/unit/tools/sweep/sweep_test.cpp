#include "tools/sweep/sweep.hpp"

#include <doctest/doctest.h>

#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>

#include "sched/simulation/policy.hpp"
#include "tests/support/temporary_folder.hpp"
#include "tools/sweep/rank_message.hpp"
#include "tools/sweep/ranks.hpp"

using namespace vtrain;
using vtrain::testing::TemporaryFolder;

namespace {

/// Starts every job of less than 50 GPUs-worth of numbers; for others it breaks the rules.
class BreaksOnLongQueues : public Policy {
 public:
  void schedule(SchedulingPass& pass) override {
    if (pass.waiting().size() > 3) pass.start(JobId{1'000'000}, GpuCount{1});
  }
};

/// Ranks within this process: a queue of messages for each.
class Post {
 public:
  explicit Post(int size) : boxes_(static_cast<std::size_t>(size)) {}

  class Rank : public Ranks {
   public:
    Rank(Post& post, int rank) : post_(post), rank_(rank) {}
    int rank() const override { return rank_; }
    int size() const override { return static_cast<int>(post_.boxes_.size()); }
    void send(int to, const std::string& bytes) override {
      const std::lock_guard lock(post_.mutex_);
      post_.boxes_[static_cast<std::size_t>(to)].push_back({rank_, bytes});
    }
    std::optional<RankMessage> receive() override {
      const std::lock_guard lock(post_.mutex_);
      auto& box = post_.boxes_[static_cast<std::size_t>(rank_)];
      if (box.empty()) return std::nullopt;
      RankMessage message = std::move(box.front());
      box.pop_front();
      return message;
    }

   private:
    Post& post_;
    int rank_;
  };

 private:
  std::mutex mutex_;
  std::vector<std::deque<RankMessage>> boxes_;
};

}  // namespace
