import { createHash } from 'node:crypto';

/** A Lua script of the Redis store; every one takes the same keys, in the order of `redisKeys`. */
export interface RedisScript {
  readonly source: string;
}

/** Parts of the names of the store's keys; the braces put all of them into one slot of a cluster. */
const PARTS = [
  'keys',
  'values',
  'pending',
  'changes',
  'sequence',
  'commits',
  'commit-times',
  'restored-keys',
  'restored-values',
  'restoring',
];

/**
 * The keys of a catalog in Redis:
 * `keys` a sorted set of the store's keys, all of one score and so in the order of their bytes;
 * `values` a hash from key to value;
 * `pending` and `changes` what is not yet forgotten, by number;
 * `sequence` the number of the last change;
 * `commits` and `commit-times` the commits of the last minutes, by the id that their sender chose;
 * `restored-keys` and `restored-values` what is being put back, until all of it is there, by
 * whoever `restoring` names.
 */
export function redisKeys(catalog: string): readonly string[] {
  return PARTS.map((part) => `{arrowgate:${catalog}}:${part}`);
}

const scripts: string[] = [];

function script(body: string): RedisScript {
  const names = PARTS.map((part) => part.replace('-', '_')).join(', ');
  // Without arguments there is nothing to do: so a server is given the script.
  const source = `if #ARGV == 0 then return {} end\nlocal ${names} = unpack(KEYS)\n${body}`;
  scripts.push(source);
  return { source };
}

/** The source of every script, as a server of this run is given it. */
export function sourcesFor(runId: string): readonly string[] {
  return scripts.map((source) => sourceFor({ source }, runId));
}

function sourceFor({ source }: RedisScript, runId: string): string {
  return `-- ${runId}\n${source}`;
}

/**
 * What a server of this run knows a script by. No other server knows it, one that
 * took over or was restarted either: it refuses the script instead of running it.
 */
export function digestFor(script: RedisScript, runId: string): string {
  return createHash('sha1').update(sourceFor(script, runId)).digest('hex');
}

/** Lua's own limit on results of `unpack` is not far above. */
const AT_ONCE = 1000;

const CHUNKS = `
local function each_chunk(list, work)
  for first = 1, #list, ${AT_ONCE} do
    work({unpack(list, first, math.min(first + ${AT_ONCE} - 1, #list))})
  end
end
`;

/**
 * A conditional commit. Arguments: the commit's id; the seconds that ids are
 * remembered; how many checks there are, and each (`v` key value, `a` key, `c`
 * start end count, `n` number); how many writes, and each (`s` key value, `r` key).
 * Answers `1 sequence`, or `0 index` of the check that does not hold. The same
 * id is applied once: its sender may send it again when no answer came.
 */
export const COMMIT = script(`
local at = 0
local function take()
  at = at + 1
  return ARGV[at]
end
local id, remembered = take(), tonumber(take())
local done = redis.call('HGET', commits, id)
if done then return {1, done} end

local holds = {
  v = function() return redis.call('HGET', values, take()) == take() end,
  a = function() return redis.call('HEXISTS', values, take()) == 0 end,
  c = function() return redis.call('ZLEXCOUNT', keys, take(), take()) == tonumber(take()) end,
  n = function() return tonumber(redis.call('GET', sequence) or '0') >= tonumber(take()) end,
}
for check = 1, tonumber(take()) do
  if not holds[take()]() then return {0, tostring(check - 1)} end
end

local REMOVED = 4294967295
local change = {}
local apply = {
  s = function(key)
    local value = take()
    redis.call('ZADD', keys, 0, key)
    redis.call('HSET', values, key, value)
    change[#change + 1] = struct.pack('>I4I4', #key, #value) .. key .. value
  end,
  r = function(key)
    redis.call('ZREM', keys, key)
    redis.call('HDEL', values, key)
    change[#change + 1] = struct.pack('>I4I4', #key, REMOVED) .. key
  end,
}
for _ = 1, tonumber(take()) do
  apply[take()](take())
end

local sequence = string.format('%.0f', redis.call('INCR', sequence))
redis.call('ZADD', pending, sequence, sequence)
redis.call('HSET', changes, sequence, table.concat(change))
local now = tonumber(redis.call('TIME')[1])
redis.call('HSET', commits, id, sequence)
redis.call('ZADD', commit_times, now, id)
local old = redis.call('ZRANGEBYSCORE', commit_times, '-inf', now - remembered, 'LIMIT', 0, 64)
if #old > 0 then
  redis.call('ZREM', commit_times, unpack(old))
  redis.call('HDEL', commits, unpack(old))
end
return {1, sequence}
`);

/** Entries of a range. Arguments: \`+\` or \`-\`, both bounds in their order, the limit. Answers keys and values by turns. */
export const RANGE = script(`${CHUNKS}
local command = ARGV[1] == '+' and 'ZRANGEBYLEX' or 'ZREVRANGEBYLEX'
local found = redis.call(command, keys, ARGV[2], ARGV[3], 'LIMIT', 0, tonumber(ARGV[4]))
local answer = {}
each_chunk(found, function(some)
  local contents = redis.call('HMGET', values, unpack(some))
  for index, key in ipairs(some) do
    answer[#answer + 1] = key
    answer[#answer + 1] = contents[index]
  end
end)
return answer
`);

/** The oldest changes. Argument: the most of them. Answers numbers and writes by turns. */
export const CHANGES = script(`
local found = redis.call('ZRANGE', pending, 0, tonumber(ARGV[1]) - 1)
local answer = {}
for _, number in ipairs(found) do
  answer[#answer + 1] = number
  answer[#answer + 1] = redis.call('HGET', changes, number)
end
return answer
`);

/** Forgets changes. Arguments: their numbers. */
export const FORGET = script(`${CHUNKS}
each_chunk(ARGV, function(some)
  redis.call('ZREM', pending, unpack(some))
  redis.call('HDEL', changes, unpack(some))
end)
return 0
`);

/** The values of keys. Arguments: the keys. */
export const VALUES = script(`${CHUNKS}
local answer = {}
each_chunk(ARGV, function(some)
  for _, value in ipairs(redis.call('HMGET', values, unpack(some))) do
    answer[#answer + 1] = value
  end
end)
return answer
`);

/**
 * The number of the last change, and the run of the server that says so; no run
 * where the user may not ask for it. One argument, which is not looked at.
 */
export const STATE = script(`
local allowed, info = pcall(redis.call, 'INFO', 'server')
local run = allowed and type(info) == 'string' and string.match(info, 'run_id:(%x+)')
return {redis.call('GET', sequence) or '0', run or ''}
`);

/** The time of the server: seconds since 1970, and microseconds. One argument, which is not looked at. */
export const TIME = script(`
return redis.call('TIME')
`);

/** Begins to put entries back. Argument: the id of whoever does. */
export const RESTORE_BEGIN = script(`
redis.call('UNLINK', restored_keys, restored_values)
redis.call('SET', restoring, ARGV[1])
return 0
`);

/** Puts entries aside that are to be put back. Arguments: the id; keys and values by turns. Answers 0 when another has begun. */
export const RESTORE_ADD = script(`
if redis.call('GET', restoring) ~= ARGV[1] then return 0 end
for at = 2, #ARGV, 2 do
  redis.call('ZADD', restored_keys, 0, ARGV[at])
  redis.call('HSET', restored_values, ARGV[at], ARGV[at + 1])
end
return 1
`);

/** Puts everything back that was put aside. Arguments: the id; the number of the last change. Answers 0 when another has begun, -1 when the store is not empty. */
export const RESTORE_END = script(`
if redis.call('GET', restoring) ~= ARGV[1] then return 0 end
if redis.call('EXISTS', keys, values, pending, changes) > 0 then return -1 end
if redis.call('EXISTS', restored_keys) == 1 then
  redis.call('RENAME', restored_keys, keys)
  redis.call('RENAME', restored_values, values)
end
if tonumber(redis.call('GET', sequence) or '0') < tonumber(ARGV[2]) then
  redis.call('SET', sequence, ARGV[2])
end
redis.call('DEL', restoring)
return 1
`);

/** Applies changes again. Arguments: for each its number, how many writes, and these as for a commit. */
export const REPLAY = script(`
local at = 0
local function take()
  at = at + 1
  return ARGV[at]
end
local apply = {
  s = function(key, value)
    redis.call('ZADD', keys, 0, key)
    redis.call('HSET', values, key, value)
  end,
  r = function(key)
    redis.call('ZREM', keys, key)
    redis.call('HDEL', values, key)
  end,
}
while at < #ARGV do
  local number, writes = take(), tonumber(take())
  local missing = tonumber(redis.call('GET', sequence) or '0') < tonumber(number)
  for _ = 1, writes do
    local kind, key = take(), take()
    local value = kind == 's' and take() or nil
    if missing then apply[kind](key, value) end
  end
  if missing then redis.call('SET', sequence, number) end
end
return 0
`);
