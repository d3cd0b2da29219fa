#include "tools/serve/store.hpp"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <random>
#include <sstream>
#include <thread>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "tests/support/rounds.hpp"
#include "tests/support/temporary_folder.hpp"
#include "tools/serve/store_schema.hpp"

namespace vtrain::serve {
namespace {

using testing::TemporaryFolder;

Input job(const std::string& body, const std::string& key = {}) {
  return {.time_ns = 1, .kind = "job", .tenant = "research", .key = key, .body = body};
}

std::string bytes_of(const std::filesystem::path& file) {
  std::ostringstream text;
  text << std::ifstream(file, std::ios::binary).rdbuf();
  return text.str();
}

std::vector<Input> all_inputs(const Store& store) {
  std::vector<Input> inputs;
  const auto read = store.replay(0, [&](std::int64_t sequence, const Input& input) -> Result<void> {
    CHECK(sequence == std::ssize(inputs) + 1);
    inputs.push_back(input);
    return {};
  });
  REQUIRE(read);
  return inputs;
}

/// The body of input `i` of a thread, long enough to take several pages now and then.
std::string body_of(int thread, int i) {
  return fmt::format("{}/{}/{}", thread, i, std::string(static_cast<std::size_t>(i % 7) * 900, 'x'));
}

TEST_CASE("store: inputs come back in their order after a restart") {
  const TemporaryFolder work;
  {
    auto store = Store::open(work / "state");
    REQUIRE(store);
    CHECK((*store)->append(job("{\"a\":1}")).value() == 1);
    CHECK((*store)->append(job("{\"a\":2}", "k")).value() == 2);
    CHECK((*store)->last() == 2);
  }
  auto store = Store::open(work / "state");
  REQUIRE(store);
  CHECK((*store)->append(job("{\"a\":3}")).value() == 3);
  const std::vector<Input> inputs = all_inputs(**store);
  REQUIRE(inputs.size() == 3);
  CHECK(inputs[1].body == "{\"a\":2}");
  CHECK(inputs[1].tenant == "research");
  CHECK(inputs[1].key == "k");
  CHECK(inputs[1].kind == "job");
}

TEST_CASE("store: an idempotency key is taken once for a tenant, also after a restart") {
  const TemporaryFolder work;
  for (int round = 0; round < 2; ++round) {
    auto store = Store::open(work / "state");
    REQUIRE(store);
    CHECK((*store)->append(job("first", "key")).value() == 1);
    CHECK((*store)->append(job("second", "key")).value() == 1);
    CHECK((*store)->find("research", "key") == 1);
    CHECK_FALSE((*store)->find("other", "key"));
    CHECK(all_inputs(**store).size() == 1);
  }
  auto store = Store::open(work / "state");
  Input other = job("other", "key");
  other.tenant = "other";
  CHECK((*store)->append(other).value() == 2);
}

TEST_CASE("store: threads append at once and share commits") {
  const TemporaryFolder work;
  auto store = Store::open(work / "state");
  REQUIRE(store);
  constexpr int kThreads = 8;
  constexpr int kInputs = 50;
  std::vector<std::thread> threads;
  std::atomic<int> failed = 0;
  for (int thread = 0; thread < kThreads; ++thread) {
    threads.emplace_back([&, thread] {
      for (int i = 0; i < kInputs; ++i)
        failed += !(*store)->append(job(body_of(thread, i)));
    });
  }
  for (std::thread& thread : threads)
    thread.join();
  CHECK(failed == 0);
  const std::vector<Input> inputs = all_inputs(**store);
  REQUIRE(inputs.size() == kThreads * kInputs);
  // Each thread's inputs are in its own order.
  std::vector<int> next(kThreads);
  for (const Input& input : inputs) {
    const int thread = std::atoi(input.body.c_str());
    CHECK(input.body == body_of(thread, next[static_cast<std::size_t>(thread)]++));
  }
  CHECK((*store)->figures().inputs == kThreads * kInputs);
  CHECK((*store)->figures().commits < kThreads * kInputs);
}

/// Appends in a process of its own until it is killed. Each acknowledged body goes to the pipe.
[[noreturn]] void append_until_killed(const std::filesystem::path& file, int pipe) {
  auto store = Store::open(file);
  if (!store) ::_exit(1);
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 4; ++thread) {
    threads.emplace_back([&, thread] {
      for (int i = 0;; ++i) {
        const auto sequence =
            (*store)->append(job(body_of(thread, i), fmt::format("{}-{}-{}", ::getpid(), thread, i)));
        if (!sequence) ::_exit(1);
        const std::string line = fmt::format("{} {} {}\n", *sequence, thread, i);
        if (::write(pipe, line.data(), line.size()) < 0) ::_exit(1);  // short lines are written at once
      }
    });
  }
  for (std::thread& thread : threads)
    thread.join();
  ::_exit(1);
}

TEST_CASE("store: a process that is killed loses nothing that was acknowledged") {
  const TemporaryFolder work;
  std::mt19937 random(7);
  std::size_t num_acknowledged = 0;
  const auto rounds = static_cast<int>(testing::rounds(5));
  for (int round = 0; round < rounds; ++round) {
    const std::filesystem::path file = work / fmt::format("state{}", round / 10);
    int ends[2];
    REQUIRE(::pipe(ends) == 0);
    const pid_t child = ::fork();
    REQUIRE(child >= 0);
    if (child == 0) {
      ::close(ends[0]);
      append_until_killed(file, ends[1]);
    }
    ::close(ends[1]);
    ::usleep(static_cast<useconds_t>(random() % 120'000));
    ::kill(child, SIGKILL);
    std::string acknowledged;
    char piece[4096];
    for (ssize_t got = 0; (got = ::read(ends[0], piece, sizeof piece)) > 0;)
      acknowledged.append(piece, static_cast<std::size_t>(got));
    ::close(ends[0]);
    int status = 0;
    REQUIRE(::waitpid(child, &status, 0) == child);
    REQUIRE(WIFSIGNALED(status));  // it did not fail by itself

    auto store = Store::open(file);
    CAPTURE((store ? std::string() : store.error().describe()));
    REQUIRE(store);
    const std::vector<Input> inputs = all_inputs(**store);  // without gaps
    std::istringstream lines(acknowledged);
    std::int64_t sequence = 0;
    int thread = 0;
    int i = 0;
    while (lines >> sequence >> thread >> i) {
      ++num_acknowledged;
      REQUIRE(sequence <= std::ssize(inputs));
      CHECK(inputs[static_cast<std::size_t>(sequence - 1)].body == body_of(thread, i));
    }
    for (const Input& input : inputs) {  // whole, not a part of one
      int of_thread = 0;
      int number = 0;
      REQUIRE(std::sscanf(input.body.c_str(), "%d/%d/", &of_thread, &number) == 2);
      CHECK(input.body == body_of(of_thread, number));
    }
  }
  CHECK(num_acknowledged > 0);
}

TEST_CASE("store: a process that is killed while it opens a state leaves one that opens") {
  const TemporaryFolder work;
  std::mt19937 random(11);
  const auto rounds = static_cast<int>(testing::rounds(20));
  for (int round = 0; round < rounds; ++round) {
    // A new file, and then a copy, which is no WAL yet.
    const std::filesystem::path file = work / fmt::format("state{}", round / 4);
    if (round % 4 == 2)
      REQUIRE(back_up(work / fmt::format("state{}", round / 4), work / fmt::format("copy{}", round)));
    const std::filesystem::path opened =
        round % 4 < 2 ? file : work / fmt::format("copy{}", round / 4 * 4 + 2);
    const pid_t child = ::fork();
    REQUIRE(child >= 0);
    if (child == 0) {
      const auto store = Store::open(opened);
      ::pause();
    }
    ::usleep(static_cast<useconds_t>(random() % 30'000));
    ::kill(child, SIGKILL);
    int status = 0;
    REQUIRE(::waitpid(child, &status, 0) == child);
    if (round % 4 == 0) continue;  // the next process finds it as it was left
    const auto store = Store::open(opened);
    CAPTURE((store ? std::string() : store.error().describe()));
    REQUIRE(store);
    CHECK((*store)->append(job("{}")));
  }
}

TEST_CASE("store: two services do not share a state") {
  const TemporaryFolder work;
  const auto first = Store::open(work / "state");
  REQUIRE(first);
  const auto second = Store::open(work / "state");
  REQUIRE_FALSE(second);
  CHECK(second.error().message.find("another service uses this state") == 0);
}

/// The message of a refusal; the file must be as before.
std::string refusal(const std::filesystem::path& file) {
  const std::string before = bytes_of(file);
  const auto store = Store::open(file);
  CHECK(bytes_of(file) == before);
  return store ? "" : store.error().message;
}

TEST_CASE("store: foreign, newer and damaged files are refused and left as they are") {
  const TemporaryFolder work;
  CHECK(refusal(work.write("text", std::string(5000, 'a'))).find("found another file") != std::string::npos);
  CHECK(refusal(work.write("empty", "")).find("found another file") != std::string::npos);
  {
    auto foreign = Database::open(work / "foreign", Database::Access::Write);
    REQUIRE(foreign->run("CREATE TABLE job (a); INSERT INTO job VALUES (1)"));
  }
  CHECK(refusal(work / "foreign").find("found another file") != std::string::npos);
  {
    auto newer = Database::open(work / "newer", Database::Access::Write);
    REQUIRE(newer->run(fmt::format("PRAGMA application_id = {}; PRAGMA user_version = 99; CREATE TABLE a (b)",
                                   kStoreApplication)));
  }
  CHECK(refusal(work / "newer").find("has version 99 of the state") == 0);
  {
    auto store = Store::open(work / "damaged");
    for (int i = 0; i < 50; ++i)
      REQUIRE((*store)->append(job(std::string(500, 'a'))));
  }
  std::string bytes = bytes_of(work / "damaged");
  REQUIRE(bytes.size() > 8192);
  for (std::size_t i = 8192; i < bytes.size(); ++i)
    bytes[i] = static_cast<char>(bytes[i] + 77);
  work.write("damaged", bytes);
  CHECK(refusal(work / "damaged").find("damaged") != std::string::npos);
  work.write("cut", bytes.substr(0, 5000));
  CHECK_FALSE(refusal(work / "cut").empty());
}

TEST_CASE("store: a file of the first version is upgraded, with what is in it") {
  const TemporaryFolder work;
  {
    auto old = Database::open(work / "state", Database::Access::Write);
    REQUIRE(old->run(std::string(store_upgrades()[0]) +
                     fmt::format("PRAGMA application_id = {}; PRAGMA user_version = 1;"
                                 "INSERT INTO input VALUES (1, 5, 'job', 'research', '', '{{}}')",
                                 kStoreApplication)));
  }
  auto store = Store::open(work / "state");
  REQUIRE(store);
  CHECK(all_inputs(**store).size() == 1);
  CHECK((*store)->append(job("{}")).value() == 2);
  CHECK_FALSE((*store)->snapshot().value());
  REQUIRE((*store)->keep({.sequence = 2, .body = "state"}));
  REQUIRE((*store)->snapshot().value());
  CHECK((*store)->snapshot().value()->body == "state");
}

TEST_CASE("store: a backup of a running service holds every input that was acknowledged before") {
  const TemporaryFolder work;
  auto store = Store::open(work / "state");
  REQUIRE(store);
  std::atomic<bool> stop = false;
  std::thread writer([&] {
    while (!stop)
      static_cast<void>((*store)->append(job("{}")));
  });
  while ((*store)->last() < 20)
    std::this_thread::yield();
  const std::int64_t before = (*store)->last();
  const auto copied = back_up(work / "state", work / "copy");
  stop = true;
  writer.join();
  REQUIRE(copied);
  CHECK_FALSE(back_up(work / "state", work / "copy"));
  auto copy = Store::open(work / "copy");
  REQUIRE(copy);
  CHECK((*copy)->last() >= before);
  CHECK(all_inputs(**copy).size() == static_cast<std::size_t>((*copy)->last()));
}

}  // namespace
}  // namespace vtrain::serve
