#include "tools/serve/store.hpp"

#include <algorithm>
#include <future>
#include <system_error>

#include "tools/serve/store_schema.hpp"

namespace vtrain::serve {
namespace {

constexpr std::string_view kInUse =
    "another service uses this state: stop it, or name another one with --state";

Input input_of(const Statement& row) {
  return {.time_ns = row.integer(1),
          .kind = row.text(2),
          .tenant = row.text(3),
          .key = row.text(4),
          .body = row.text(5)};
}

}  // namespace

Store::Store(std::filesystem::path file, FileLock lock, Database database)
    : file_(std::move(file)), lock_(std::move(lock)), database_(std::move(database)) {}

Result<std::unique_ptr<Store>> Store::open(const std::filesystem::path& file) {
  auto lock = FileLock::beside(file, kInUse);
  if (!lock) return fail(std::move(lock.error()));
  auto database = open_store(file);
  if (!database) return fail(std::move(database.error()));
  std::unique_ptr<Store> store(new Store(file, *std::move(lock), *std::move(database)));
  if (auto loaded = store->load(); !loaded) return fail(std::move(loaded.error()));
  store->thread_ = std::thread([opened = store.get()] { opened->work(); });
  return store;
}

Store::~Store() {
  {
    const std::lock_guard lock(mutex_);
    is_closing_ = true;
  }
  more_.notify_one();
  if (thread_.joinable()) thread_.join();
}

Result<void> Store::load() {
  auto rows = database_.prepare("SELECT sequence, tenant, key FROM input WHERE key <> ''");
  if (!rows) return fail(std::move(rows.error()));
  for (;;) {
    const auto more = rows->step();
    if (!more) return fail(more.error());
    if (!*more) break;
    keys_.emplace(std::pair(rows->text(1), rows->text(2)), rows->integer(0));
  }
  const auto last = database_.number("SELECT max(sequence) FROM input");
  if (!last) return fail(last.error());
  last_durable_ = *last;
  next_ = *last + 1;
  return {};
}

void Store::append(Input input, Done done) {
  {
    const std::lock_guard lock(mutex_);
    Waiting waiting{.sequence = next_, .input = std::move(input), .done = std::move(done)};
    if (!waiting.input.key.empty()) {
      const auto [place, is_new] =
          keys_.try_emplace(std::pair(waiting.input.tenant, waiting.input.key), next_);
      waiting.sequence = place->second;
      waiting.is_known = !is_new;
    }
    if (!waiting.is_known) ++next_;
    queue_.push_back(std::move(waiting));
  }
  more_.notify_one();
}

Result<std::int64_t> Store::append(Input input) {
  std::promise<Result<std::int64_t>> durable;
  append(std::move(input),
         [&durable](Result<std::int64_t> sequence) { durable.set_value(std::move(sequence)); });
  return durable.get_future().get();
}

std::optional<std::int64_t> Store::find(const std::string& tenant, const std::string& key) const {
  const std::lock_guard lock(mutex_);
  const auto found = keys_.find(std::pair(tenant, key));
  if (found == keys_.end()) return std::nullopt;
  return found->second;
}

StoreFigures Store::figures() const {
  return {.inputs = num_appended_, .commits = num_commits_};
}

Result<void> Store::commit(const std::vector<Waiting>& batch) {
  const auto write = [&]() -> Result<void> {
    if (auto begun = database_.run("BEGIN IMMEDIATE"); !begun) return begun;
    auto insert = database_.prepare("INSERT INTO input VALUES (?, ?, ?, ?, ?, ?)");
    if (!insert) return fail(std::move(insert.error()));
    for (const Waiting& waiting : batch) {
      if (waiting.is_known) continue;
      insert->bind(0, waiting.sequence);
      insert->bind(1, waiting.input.time_ns);
      insert->bind(2, std::string_view(waiting.input.kind));
      insert->bind(3, std::string_view(waiting.input.tenant));
      insert->bind(4, std::string_view(waiting.input.key));
      insert->bind(5, std::string_view(waiting.input.body));
      if (auto inserted = insert->run(); !inserted) return inserted;
    }
    return database_.run("COMMIT");
  };
  auto written = write();
  if (!written) static_cast<void>(database_.run("ROLLBACK"));  // there may be nothing to undo
  return written;
}

void Store::work() {
  for (;;) {
    std::vector<Waiting> batch;
    {
      std::unique_lock lock(mutex_);
      more_.wait(lock, [this] { return !queue_.empty() || is_closing_; });
      if (queue_.empty()) return;
      batch.swap(queue_);
    }
    Result<void> written;
    const auto num_new = std::ranges::count(batch, false, &Waiting::is_known);
    if (!is_healthy_) {
      written = fail({.kind = ErrorKind::Io, .file = file_.string(), .message = "an earlier write failed"});
    } else if (num_new > 0) {
      written = commit(batch);
    }
    if (!written) {
      is_healthy_ = false;
    } else if (num_new > 0) {
      last_durable_ += num_new;
      num_appended_ += num_new;
      ++num_commits_;
    }
    for (const Waiting& waiting : batch)
      waiting.done(written ? Result<std::int64_t>(waiting.sequence) : fail(written.error()));
  }
}

Result<void> Store::replay(std::int64_t sequence,
                           const std::function<Result<void>(std::int64_t, const Input&)>& visit) const {
  const auto reader = Database::open(file_, Database::Access::Read);
  if (!reader) return fail(reader.error());
  auto rows = reader->prepare(
      "SELECT sequence, time_ns, kind, tenant, key, body FROM input WHERE sequence > ? ORDER BY sequence");
  if (!rows) return fail(std::move(rows.error()));
  rows->bind(0, sequence);
  for (;;) {
    const auto more = rows->step();
    if (!more) return fail(more.error());
    if (!*more) return {};
    if (auto visited = visit(rows->integer(0), input_of(*rows)); !visited) return visited;
  }
}

std::int64_t Store::last_appended() const {
  const std::lock_guard lock(mutex_);
  return next_ - 1;
}

Result<Input> Store::input(std::int64_t sequence) const {
  const auto reader = Database::open(file_, Database::Access::Read);
  if (!reader) return fail(reader.error());
  auto row =
      reader->prepare("SELECT sequence, time_ns, kind, tenant, key, body FROM input WHERE sequence = ?");
  if (!row) return fail(std::move(row.error()));
  row->bind(0, sequence);
  const auto found = row->step();
  if (!found) return fail(found.error());
  if (!*found)
    return fail({.kind = ErrorKind::NotFound, .file = file_.string(), .message = "has no such input"});
  return input_of(*row);
}

Result<void> Store::keep(const Snapshot& snapshot, std::span<const PastJob> past) {
  auto writer = Database::open(file_, Database::Access::Write);
  if (!writer) return fail(std::move(writer.error()));
  const auto write = [&]() -> Result<void> {
    if (auto begun = writer->run("BEGIN IMMEDIATE"); !begun) return begun;
    auto insert = writer->prepare("INSERT OR REPLACE INTO past_job VALUES (?, ?, ?, ?)");
    if (!insert) return fail(std::move(insert.error()));
    for (const PastJob& job : past) {
      insert->bind(0, job.id);
      insert->bind(1, std::string_view(job.tenant));
      insert->bind(2, std::string_view(job.state));
      insert->bind(3, std::string_view(job.body));
      if (auto inserted = insert->run(); !inserted) return inserted;
    }
    auto replace = writer->prepare("INSERT OR REPLACE INTO snapshot VALUES (1, ?, ?)");
    if (!replace) return fail(std::move(replace.error()));
    replace->bind(0, snapshot.sequence);
    replace->bind(1, std::string_view(snapshot.body));
    if (auto replaced = replace->run(); !replaced) return replaced;
    return writer->run("COMMIT");
  };
  auto written = write();
  if (!written) static_cast<void>(writer->run("ROLLBACK"));  // there may be nothing to undo
  return written;
}

Result<std::vector<PastJob>> Store::past(const PastQuery& query) const {
  const auto reader = Database::open(file_, Database::Access::Read);
  if (!reader) return fail(reader.error());
  std::string sql = "SELECT id, tenant, state, body FROM past_job WHERE id < ?";
  if (query.tenant) sql += " AND tenant = ?";
  if (query.state) sql += " AND state = ?";
  sql += " ORDER BY id DESC LIMIT ?";
  auto rows = reader->prepare(sql);
  if (!rows) return fail(std::move(rows.error()));
  int place = 0;
  rows->bind(place++, query.below);
  if (query.tenant) rows->bind(place++, std::string_view(*query.tenant));
  if (query.state) rows->bind(place++, std::string_view(*query.state));
  rows->bind(place, static_cast<std::int64_t>(query.limit));
  std::vector<PastJob> jobs;
  for (;;) {
    const auto more = rows->step();
    if (!more) return fail(more.error());
    if (!*more) return jobs;
    jobs.push_back(
        {.id = rows->integer(0), .tenant = rows->text(1), .state = rows->text(2), .body = rows->text(3)});
  }
}

Result<std::optional<Snapshot>> Store::snapshot() const {
  const auto reader = Database::open(file_, Database::Access::Read);
  if (!reader) return fail(reader.error());
  auto row = reader->prepare("SELECT sequence, body FROM snapshot");
  if (!row) return fail(std::move(row.error()));
  const auto found = row->step();
  if (!found) return fail(found.error());
  if (!*found) return std::nullopt;
  return Snapshot{.sequence = row->integer(0), .body = row->text(1)};
}

Result<void> back_up(const std::filesystem::path& file, const std::filesystem::path& copy) {
  if (auto checked = check_store(file); !checked) return checked;
  std::error_code code;
  if (std::filesystem::exists(copy, code))
    return fail({.file = copy.string(), .message = "exists already: name a new file"});
  const auto database = Database::open(file, Database::Access::Read);
  if (!database) return fail(database.error());
  return database->copy_to(copy);
}

}  // namespace vtrain::serve
