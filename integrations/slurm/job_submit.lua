--[[
Asks `vtrain serve` about training jobs at their submission. Installation and rules: docs/serve_clients.md.

A job whose comment holds `vtrain: model=… tokens=… deadline=…` is admitted by the service, which predicts its run time, or refused with
the service's reason. An admitted job gets the service's id into its comment, `vtrain: job=17 model=…`. All other jobs pass untouched.

slurmctld waits for the answer and holds its locks meanwhile. So the service must be on this machine and has `timeout_s` for all of it.
Needs lua-socket, and nothing else. Lua 5.1 and later.
]]

local settings = {
  -- What happens to a job where the service gives no answer (it is down, slow, or answers with an error) and where the comment
  -- cannot be understood: "pass", the job goes on without a promise, or "refuse". Both are logged, and the user is told.
  without_answer = "pass",
  -- Address of the service: numbers, and of this machine, since the token travels in plain text.
  address = "127.0.0.1",
  port = 8080,
  -- File with the token, readable by slurmctld alone. The role `operate` lets it name the tenant, which is the job's account.
  -- Empty for a service without tokens.
  token_file = "/etc/slurm/vtrain.token",
  -- Seconds for connecting, sending and receiving together.
  timeout_s = 2,
  -- Time limits that are longer than the service's are shortened to it. Shorter ones always stay.
  shorten_time_limits = true,
  -- The service's names of GPU types, by Slurm's, where they differ: {a100_80gb = "a100"}.
  gpu_types = {},
}

local PREFIX = "vtrain:"
local MOST_BYTES = 262144
local MOST_NESTING = 64
local UNSET, UNLIMITED, UNSET_16 = 4294967294, 4294967295, 65534

-- Expected failures are tables, so that `pcall` tells them from errors of this file.
local function fail(reason, ...)
  error({reason = string.format(reason, ...)}, 0)
end

-- One line of text that is safe to print: no control characters, not long.
local function plain(text)
  text = tostring(text):gsub("%c+", " ")
  return #text > 600 and text:sub(1, 600) .. "…" or text
end

-- ---- JSON ----

-- The length of the UTF-8 character at a place of a text; nil if there is none.
local function character_length(text, at)
  local first, second = text:byte(at, at + 1)
  if first < 0x80 then return 1 end
  local length = first >= 0xF0 and 4 or first >= 0xE0 and 3 or 2
  if first < 0xC2 or first > 0xF4 or not text:find("^[\128-\191]" .. ("[\128-\191]"):rep(length - 2), at + 1) then return nil end
  -- Overlong forms, surrogates, and what lies beyond U+10FFFF.
  if first == 0xE0 and second < 0xA0 or first == 0xED and second > 0x9F then return nil end
  if first == 0xF0 and second < 0x90 or first == 0xF4 and second > 0x8F then return nil end
  return length
end

-- A text as JSON; bytes that are no UTF-8 become question marks.
local function quote(text)
  local parts = {}
  local at = 1
  while at <= #text do
    local length = character_length(text, at)
    local character = length and text:sub(at, at + length - 1) or "?"
    if character:find('[%c"\\]') then character = string.format("\\u%04x", character:byte()) end
    parts[#parts + 1] = character
    at = at + (length or 1)
  end
  return '"' .. table.concat(parts) .. '"'
end

local function utf8_of(code)
  if code < 0x80 then return string.char(code) end
  local tail = {}
  local most = 0x40  -- what the first byte can hold, shrinking with each byte that follows
  repeat
    table.insert(tail, 1, string.char(0x80 + code % 0x40))
    code = math.floor(code / 0x40)
    most = most / 2
  until code < most
  return string.char(0x100 - 2 * most + code) .. table.concat(tail)
end

local ESCAPES = {b = "\b", f = "\f", n = "\n", r = "\r", t = "\t", ['"'] = '"', ["\\"] = "\\", ["/"] = "/"}

-- Reads a JSON document. Objects and arrays are tables, null is nil.
local function decode(text)
  local at = 1
  local read_value

  local function skip(pattern)
    local _, last, found = text:find("^" .. pattern, at)
    if last then at = last + 1 end
    return last and (found or true)
  end
  local function expect(pattern)
    return skip(pattern) or fail("the service's answer is not JSON (byte %d)", at)
  end

  local function read_unicode()
    local code = tonumber(expect("u(%x%x%x%x)"), 16)
    if code < 0xD800 or code > 0xDFFF then return utf8_of(code) end
    local low = code < 0xDC00 and tonumber(skip("\\u([dD][c-fC-F]%x%x)") or "", 16)
    return low and utf8_of(0x10000 + (code - 0xD800) * 0x400 + low - 0xDC00) or "?"
  end
  local function read_string()
    expect('"')
    local parts = {}
    while not skip('"') do
      if skip("\\") then
        local escape = skip('([bfnrt"\\/])')
        parts[#parts + 1] = escape and ESCAPES[escape] or read_unicode()
      else
        parts[#parts + 1] = expect('([^%z\1-\31"\\]+)')
      end
    end
    return table.concat(parts)
  end

  -- Elements up to a closing bracket.
  local function read_elements(closing, read_element)
    skip("%s*")
    if skip(closing) then return end
    repeat
      skip("%s*")
      read_element()
      skip("%s*")
    until not skip(",")
    expect(closing)
  end

  function read_value(depth)
    if depth > MOST_NESTING then fail("the service's answer is nested too deeply") end
    skip("%s*")
    local values = {}
    if skip("{") then
      read_elements("}", function()
        local key = read_string()
        expect("%s*:")
        values[key] = read_value(depth + 1)
      end)
      return values
    elseif skip("%[") then
      local count = 0
      read_elements("%]", function()
        count = count + 1
        values[count] = read_value(depth + 1)
      end)
      return values
    elseif text:find('^"', at) then
      return read_string()
    elseif skip("true") then
      return true
    elseif skip("false") then
      return false
    elseif skip("null") then
      return nil
    end
    return tonumber(expect("(%-?%d[%d%.eE+%-]*)")) or fail("the service's answer is not JSON (byte %d)", at)
  end

  local value = read_value(1)
  skip("%s*")
  if at <= #text then fail("the service's answer is not JSON (byte %d)", at) end
  return value
end

-- ---- HTTP ----

local function read_token()
  if settings.token_file == "" then return nil end
  local file, reason = io.open(settings.token_file, "r")
  if not file then fail("no token: %s", reason) end
  local token = (file:read(1000) or ""):match("^%s*([%w%-%._~+/]+=*)%s*$")
  file:close()
  return token or fail("no token in %s", settings.token_file)
end

-- Posts a body, and returns the status and the document of the answer. The table `call` says whether the service may have read it.
local function post(path, body, key, call)
  local found, socket = pcall(require, "socket")
  if not found then fail("lua-socket is not installed") end
  if not settings.address:find("^127%.%d+%.%d+%.%d+$") then fail("the service's address must be one of this machine, 127.…") end
  local token = read_token()
  local head = {
    -- 1.0: the answer comes in one piece, and the connection closes behind it.
    "POST " .. path .. " HTTP/1.0",
    "Host: " .. settings.address,
    "Content-Type: application/json",
    "Content-Length: " .. #body,
    "Idempotency-Key: " .. key,
    token and "Authorization: Bearer " .. token or "Accept: application/json",
  }
  local tcp = socket.tcp()
  local deadline = socket.gettime() + settings.timeout_s
  local function wait()
    tcp:settimeout(math.max(0.001, math.min(deadline - socket.gettime(), settings.timeout_s)), "t")
    return tcp
  end
  local function check(done, reason)
    if done then return end
    tcp:close()
    fail(reason == "timeout" and "the service does not answer in %g s" or "the service cannot be reached: %s",
      reason == "timeout" and settings.timeout_s or reason)
  end
  check(wait():connect(settings.address, settings.port))
  call.is_sent = true
  check(wait():send(table.concat(head, "\r\n") .. "\r\n\r\n" .. body))
  local whole, reason, part = wait():receive(MOST_BYTES)
  local answer = whole or part or ""
  local first, last = answer:find("\r\n\r\n", 1, true)
  local status = tonumber(answer:match("^HTTP/1%.[01] (%d%d%d)[ \r]"))
  local length = first and tonumber(answer:sub(1, first):lower():match("\r\ncontent%-length:%s*(%d+)"))
  if not (status and length and #answer - last >= length) then
    check(nil, reason == "timeout" and reason or "the service's answer is cut or too long")
  end
  tcp:close()
  return status, decode(answer:sub(last + 1, last + length))
end

-- ---- the comment and the request of a job ----

local KEYS = {model = true, tokens = true, deadline = true, global_batch = true, iterations = true, plan = true, job = true}

-- The words of a comment behind `vtrain:`, by key. A value with blanks stands in double quotes, and has none inside.
local function read_words(text)
  local words = {}
  local at = 1
  while text:find("[^ ]", at) do
    local _, last, key, value = text:find('^ *([^ ="]+)="([^"]*)"', at)
    if not last then _, last, key, value = text:find('^ *([^ ="]+)=([^ "]*)', at) end
    if not last or not text:find("^ ", last + 1) and last < #text then
      fail("its comment is not understood at '%s'", plain(text:sub(at):match("^ *(.*)$")))
    end
    if not KEYS[key] then fail("its comment has an unknown key, '%s'", plain(key)) end
    if words[key] then fail("its comment has %s= twice", key) end
    words[key] = value
    at = last + 1
  end
  if not words.model then fail("its comment has no model=") end
  if not words.tokens == not words.iterations then fail("its comment must have either tokens= or iterations=") end
  return words
end

-- A comment with the service's id, or without one: what users write as an id is never kept.
local function with_id(comment, id)
  local first, last = comment:find(PREFIX, 1, true)
  local text = (" " .. comment:sub(last + 1)):gsub(" job=[^ ]*", " "):gsub("^ +", "")
  return comment:sub(1, first - 1) .. PREFIX .. (id and " job=" .. id or "") .. (text ~= "" and " " .. text or "")
end

-- A number of the job, or nil if the user gave none.
local function given(number)
  number = tonumber(number)
  return number and number > 0 and number ~= UNSET and number ~= UNLIMITED and number ~= UNSET_16 and number or nil
end

-- GPUs of a request such as `gres:gpu:a100:4`, and their type. Requests of other things are left out.
local function read_gpus(text)
  local count, type
  for each in tostring(text or ""):gmatch("[^,]+") do
    local rest = each:gsub("^gres[:/]", ""):match("^gpu(.*)$")
    if rest and (rest == "" or rest:find("^[:=]")) then
      local kind, number = rest:match("^:([^:=]*%a[^:=]*)[:=]?(%d*)$")
      if not kind then number = rest:match("^[:=](%d+)$") or rest == "" and "1" end
      if not number then fail("its GPUs are not understood: '%s'", plain(each)) end
      if count and kind ~= type then fail("it asks for GPUs of several types") end
      count = (count or 0) + (tonumber(number) or 1)
      type = kind
    end
  end
  return count, type
end

local function count_nodes(job)
  local nodes, tasks, per_node = given(job.min_nodes), given(job.num_tasks) or 1, given(job.ntasks_per_node)
  if nodes then
    local most = given(job.max_nodes)
    if most and most > nodes then fail("its number of nodes is a range, and with it that of its GPUs") end
    return nodes
  end
  if per_node then return math.ceil(tasks / per_node) end
  return tasks == 1 and 1 or fail("its GPUs are for each node, and it says no number of nodes (-N)")
end

-- All GPUs of a job, and their type.
local function count_gpus(job)
  local count, type = read_gpus(job.tres_per_job)
  if count then return count, type end
  count, type = read_gpus(job.tres_per_node)
  if count then return count * count_nodes(job), type end
  count, type = read_gpus(job.tres_per_task)
  if count then
    local tasks = given(job.num_tasks) or given(job.ntasks_per_node) and given(job.ntasks_per_node) * count_nodes(job)
    return count * (tasks or given(job.min_nodes) or 1), type
  end
  count, type = read_gpus(job.tres_per_socket)
  if count and given(job.sockets_per_node) then return count * given(job.sockets_per_node) * count_nodes(job), type end
  fail(count and "its GPUs are for each socket, and it says no number of sockets" or "it asks for no GPUs")
end

local function request_of(job, words)
  if job.array_inx then fail("it is a job array, whose tasks have one comment") end
  local gpus, type = count_gpus(job)
  if gpus == 0 then fail("it asks for no GPUs") end
  local parts = {}
  local function add(key, value)
    if value and value ~= "" then parts[#parts + 1] = quote(key) .. ": " .. value end
  end
  local function add_text(key, value)
    if value and value ~= "" then add(key, quote(value)) end
  end
  add_text("model", words.model)
  add_text("tokens", words.tokens)
  add_text("deadline", words.deadline)
  for _, key in ipairs({"iterations", "global_batch"}) do
    if words[key] then add(key, words[key]:match("^[1-9]%d*$") or fail("its %s= is no whole number", key)) end
  end
  add_text("name", job.name)
  add_text("tenant", job.account or job.default_account)
  add("gpus", string.format("%d", gpus))
  add_text("gpu_type", type and (settings.gpu_types[type] or type))
  add("rigid", "true")
  return "{" .. table.concat(parts, ", ") .. "}"
end

-- ---- the service's answer ----

local function new_key()
  local file = io.open("/dev/urandom", "rb") or fail("/dev/urandom cannot be read")
  local bytes = file:read(16)
  file:close()
  return (bytes:gsub(".", function(byte) return string.format("%02x", byte:byte()) end))
end

-- Keys of requests that were sent and not answered, by what they were. A user who was refused and tries again gets the first answer,
-- if the service has made one meanwhile. Jobs that passed are not here: another one like it is another job.
local unanswered, unanswered_count = {}, 0

local function ask(body, user)
  local mark = user .. " " .. body
  local key = unanswered[mark] or new_key()
  local call = {}
  local done, status, answer = pcall(post, "/v1/jobs", body, key, call)
  if not done then
    if call.is_sent and settings.without_answer == "refuse" and not unanswered[mark] then
      if unanswered_count >= 1000 then unanswered, unanswered_count = {}, 0 end
      unanswered[mark], unanswered_count = key, unanswered_count + 1
    end
    error(status, 0)
  end
  if unanswered[mark] then unanswered[mark], unanswered_count = nil, unanswered_count - 1 end
  if type(answer) ~= "table" then fail("the service's answer is no object") end
  if status ~= 200 and status ~= 201 then
    local field = answer.field and tostring(answer.field) .. ": " or ""
    fail("the service answers %d, %s%s", status, field, tostring(answer.detail or answer.title or "without a reason"))
  end
  return answer
end

-- Gives a job the predicted time limit, and returns what the user should know of it.
local function set_time_limit(job, seconds)
  seconds = tonumber(seconds)
  -- Slurm's limits are minutes in 32 bits.
  if not seconds or not (seconds >= 1 and seconds <= 1e11) then return "" end
  local minutes = math.ceil(seconds / 60)
  local asked = tonumber(job.time_limit)
  if not asked or asked == UNSET or asked == 0 then
    job.time_limit = minutes
    return string.format("; time limit %d min", minutes)
  elseif asked < minutes then
    return string.format("; its time limit of %d min is shorter than the %d min that it may take", asked, minutes)
  elseif asked > minutes and settings.shorten_time_limits then
    job.time_limit = minutes
    return string.format("; time limit shortened to %d min", minutes)
  end
  return ""
end

-- Tells the user and the log.
local function tell(log, user, text)
  log("%s", plain("vtrain: user " .. user .. ": " .. text))
  slurm.log_user("%s", plain("vtrain: " .. text))
end

local function submit(job, user)
  local _, last = job.comment:find(PREFIX, 1, true)
  local words = read_words(job.comment:sub(last + 1))
  local answer = ask(request_of(job, words), user)
  if answer.state == "refused" then
    local earliest = answer.earliest_deadline and "; the earliest deadline is " .. tostring(answer.earliest_deadline) or ""
    tell(slurm.log_info, user, "refused: " .. tostring(answer.reason or "the service names no reason") .. earliest)
    return slurm.ERROR
  end
  local id = type(answer.id) == "string" and answer.id:match("^[%w%-_]+$")
  if not id or #id > 64 or answer.state ~= "waiting" and answer.state ~= "running" then
    fail("the service's answer is no job that waits or runs")
  end
  job.comment = with_id(job.comment, id)
  local promise = answer.promised == true and "job " .. id .. ", in time for its deadline" or "job " .. id .. ", without a promise"
  local plan = words.plan and "; plan= is read by `vtrain eta` alone" or ""
  tell(slurm.log_info, user, promise .. set_time_limit(job, answer.time_limit_s) .. plan)
  return slurm.SUCCESS
end

function slurm_job_submit(job, partitions, user)
  if type(job.comment) ~= "string" or not job.comment:find(PREFIX, 1, true) then return slurm.SUCCESS end
  local done, result = pcall(submit, job, tostring(user))
  if done then return result end
  local reason = type(result) == "table" and result.reason or "error in job_submit.lua: " .. tostring(result)
  if settings.without_answer == "refuse" then
    tell(slurm.log_error, tostring(user), "refused, since " .. reason)
    return slurm.ERROR
  end
  job.comment = with_id(job.comment, nil)
  tell(slurm.log_error, tostring(user), "no promise for this job, since " .. reason)
  return slurm.SUCCESS
end

-- Changes pass. A job that has an id keeps it, whatever its user writes into the comment.
function slurm_job_modify(job, record, partitions, user)
  local before = type(record.comment) == "string" and record.comment:match(PREFIX .. " job=([%w%-_]+)")
  local comment = job.comment
  if user ~= 0 and type(comment) == "string" and comment:find(PREFIX, 1, true) then
    local wanted = with_id(comment, before or nil)
    if wanted ~= comment then job.comment = wanted end
  end
  return slurm.SUCCESS
end

return slurm.SUCCESS
