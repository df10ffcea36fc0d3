import { createHash } from 'node:crypto';
import { SEAL_BYTES, SEAL_FORM } from '../value-seal.ts';

/** A Lua script of the Redis store. All take the same keys, in the order of `redisKeys`. */
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
  'digest',
  'walk',
  'restored-digest',
];

/**
 * The keys of a catalog in Redis:
 * `keys` a sorted set of the store's keys, all of one score and so in the order of their bytes;
 * `values` a hash from key to value;
 * `pending` and `changes` the changes that the journal may lack, by number;
 * `sequence` the number of the last change;
 * `commits` and `commit-times` the commits of the last minutes, by the sender's id;
 * `restored-keys` and `restored-values` the entries of the restore with the id `restoring`, until it is complete;
 * `digest` the digests of the keys by their first byte, and in `sealing` whether `some` or `all` values are sealed;
 * `walk` the digests of the keys up to a cursor, while all keys are counted: `id` names the process that counts,
 * `at` is the time of its last step in seconds;
 * `restored-digest` the digests of the restored keys.
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

/** The sources of all scripts for a server of this run. */
export function sourcesFor(runId: string): readonly string[] {
  return scripts.map((source) => sourceFor({ source }, runId));
}

function sourceFor({ source }: RedisScript, runId: string): string {
  return `-- ${runId}\n${source}`;
}

/**
 * Digest of a script on a server of this run. Any other server, also a promoted or restarted one, lacks
 * the script and refuses it instead of running it.
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
 * Digests of keys, as in `KeyDigests`. `count` adds keys to (or removes them from) the digests of a hash: a list of
 * `{key, sign}`. `moved` brings all digests up to date after a change of the keys.
 */
const DIGESTS = `
local function sums_of(text)
  local sums = {0, 0, 0, 0, 0}
  local at = 0
  for number in string.gmatch(text or '', '-?%d+') do
    at = at + 1
    sums[at] = tonumber(number)
  end
  return sums
end
local function count(hash, list)
  local groups = {}
  for _, entry in ipairs(list) do
    local key, sign = entry[1], entry[2]
    local group = string.sub(key, 1, 1)
    local sums = groups[group] or sums_of(redis.call('HGET', hash, group))
    groups[group] = sums
    local sha = redis.sha1hex(key)
    sums[1] = sums[1] + sign
    for word = 1, 4 do
      local value = tonumber(string.sub(sha, 8 * word - 7, 8 * word), 16)
      sums[word + 1] = (sums[word + 1] + sign * value) % 4294967296
    end
  end
  for group, sums in pairs(groups) do
    redis.call('HSET', hash, group, string.format('%.0f %.0f %.0f %.0f %.0f', unpack(sums)))
  end
end
local function not_after(key, cursor)
  for at = 1, math.min(#key, #cursor) do
    local left, right = string.byte(key, at), string.byte(cursor, at)
    if left ~= right then return left < right end
  end
  return #key <= #cursor
end
local function sealing_of()
  local sealing = redis.call('HGET', digest, 'sealing')
  if not sealing then redis.call('HSET', digest, 'sealing', 'all') end
  return sealing or 'all'
end
local function moved(list, sealing)
  if #list == 0 then return end
  if sealing == 'all' then count(digest, list) end
  local cursor = redis.call('HGET', walk, 'cursor')
  if not cursor then return end
  local counted = {}
  for _, entry in ipairs(list) do
    if not_after(entry[1], cursor) then counted[#counted + 1] = entry end
  end
  count(walk, counted)
end
`;

/**
 * A conditional commit. Arguments: the commit's id; the lifetime of ids in seconds; the number of
 * checks, and each (`v` key value, `a` key, `c` start end count, `n` number); the seal of the change; the
 * number of writes, and each (`s` key value, `r` key). Values are sealed; the change has them without their
 * seals. Returns `1 sequence`, or `0 index` of the failed check. An id is applied once, so a commit
 * without an answer may be sent again.
 */
export const COMMIT = script(`${DIGESTS}
local at = 0
local function take()
  at = at + 1
  return ARGV[at]
end
local id, remembered = take(), tonumber(take())
local done = redis.call('HGET', commits, id)
if done then return {1, done} end

local holds = {
  v = function()
    local stored, sealed = redis.call('HGET', values, take()), take()
    return stored == sealed
  end,
  a = function() return redis.call('HEXISTS', values, take()) == 0 end,
  c = function() return redis.call('ZLEXCOUNT', keys, take(), take()) == tonumber(take()) end,
  n = function() return tonumber(redis.call('GET', sequence) or '0') >= tonumber(take()) end,
}
for check = 1, tonumber(take()) do
  if not holds[take()]() then return {0, tostring(check - 1)} end
end

local REMOVED = 4294967295
local sealing = sealing_of()
local change, list = {take()}, {}
local apply = {
  s = function(key)
    local sealed = take()
    if redis.call('ZADD', keys, 0, key) == 1 then list[#list + 1] = {key, 1} end
    redis.call('HSET', values, key, sealed)
    local value = string.sub(sealed, ${SEAL_BYTES + 1})
    change[#change + 1] = struct.pack('>I4I4', #key, #value) .. key .. value
  end,
  r = function(key)
    if redis.call('ZREM', keys, key) == 1 then list[#list + 1] = {key, -1} end
    redis.call('HDEL', values, key)
    change[#change + 1] = struct.pack('>I4I4', #key, REMOVED) .. key
  end,
}
for _ = 1, tonumber(take()) do
  apply[take()](take())
end
moved(list, sealing)

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

/**
 * Entries of a range. Arguments: `+` or `-`, both bounds in their order, the limit, and `keys` if values are not
 * needed. Answers keys and values in turn, 0 for a value that is missing, and an empty one if it is not needed.
 */
export const RANGE = script(`${CHUNKS}
local command = ARGV[1] == '+' and 'ZRANGEBYLEX' or 'ZREVRANGEBYLEX'
local found = redis.call(command, keys, ARGV[2], ARGV[3], 'LIMIT', 0, tonumber(ARGV[4]))
local answer = {}
each_chunk(found, function(some)
  local contents = ARGV[5] ~= 'keys' and redis.call('HMGET', values, unpack(some))
  for index, key in ipairs(some) do
    answer[#answer + 1] = key
    answer[#answer + 1] = not contents and '' or contents[index] or 0
  end
end)
return answer
`);

/** The oldest changes. Argument: their maximum number. Returns numbers and writes in turn. */
export const CHANGES = script(`
local found = redis.call('ZRANGE', pending, 0, tonumber(ARGV[1]) - 1)
local answer = {}
for _, number in ipairs(found) do
  answer[#answer + 1] = number
  answer[#answer + 1] = redis.call('HGET', changes, number)
end
return answer
`);

/** Removes changes. Arguments: their numbers. */
export const FORGET = script(`${CHUNKS}
each_chunk(ARGV, function(some)
  redis.call('ZREM', pending, unpack(some))
  redis.call('HDEL', changes, unpack(some))
end)
return 0
`);

/** The values of keys. Arguments: the keys. Answers nil for an absent key, and 0 for a value that is missing though its key is there. */
export const VALUES = script(`${CHUNKS}
local answer = {}
each_chunk(ARGV, function(some)
  for index, value in ipairs(redis.call('HMGET', values, unpack(some))) do
    if not value and redis.call('ZSCORE', keys, some[index]) then value = 0 end
    answer[#answer + 1] = value
  end
end)
return answer
`);

/**
 * The number of the last change, and the run id of the server; an empty id if the user may not run
 * INFO. One unused argument.
 */
export const STATE = script(`
local allowed, info = pcall(redis.call, 'INFO', 'server')
local run = allowed and type(info) == 'string' and string.match(info, 'run_id:(%x+)')
return {redis.call('GET', sequence) or '0', run or ''}
`);

/** The time of the server: seconds since 1970, and microseconds. One unused argument. */
export const TIME = script(`
return redis.call('TIME')
`);

/** Begins a restore. Argument: the id of the restoring process. */
export const RESTORE_BEGIN = script(`
redis.call('UNLINK', restored_keys, restored_values, restored_digest)
redis.call('HSET', restored_digest, 'sealing', 'all')
redis.call('SET', restoring, ARGV[1])
return 0
`);

/** Stages entries of a restore. Arguments: the id; keys and values in turn. Returns 0 if another restore has begun. */
export const RESTORE_ADD = script(`${DIGESTS}
if redis.call('GET', restoring) ~= ARGV[1] then return 0 end
local list = {}
for at = 2, #ARGV, 2 do
  if redis.call('ZADD', restored_keys, 0, ARGV[at]) == 1 then list[#list + 1] = {ARGV[at], 1} end
  redis.call('HSET', restored_values, ARGV[at], ARGV[at + 1])
end
count(restored_digest, list)
return 1
`);

/** Completes a restore. Arguments: the id; the number of the last change. Returns 0 if another restore has begun, -1 if the store is not empty. */
export const RESTORE_END = script(`
if redis.call('GET', restoring) ~= ARGV[1] then return 0 end
if redis.call('EXISTS', keys, values, pending, changes) > 0 then return -1 end
if redis.call('EXISTS', restored_keys) == 1 then
  redis.call('RENAME', restored_keys, keys)
  redis.call('RENAME', restored_values, values)
end
redis.call('RENAME', restored_digest, digest)
redis.call('DEL', walk)
if tonumber(redis.call('GET', sequence) or '0') < tonumber(ARGV[2]) then
  redis.call('SET', sequence, ARGV[2])
end
redis.call('DEL', restoring)
return 1
`);

/** Replays changes. Arguments: for each its number, the number of writes, and the writes as for a commit. */
export const REPLAY = script(`${DIGESTS}
local at = 0
local function take()
  at = at + 1
  return ARGV[at]
end
local sealing, list = sealing_of(), {}
local apply = {
  s = function(key, value)
    if redis.call('ZADD', keys, 0, key) == 1 then list[#list + 1] = {key, 1} end
    redis.call('HSET', values, key, value)
  end,
  r = function(key)
    if redis.call('ZREM', keys, key) == 1 then list[#list + 1] = {key, -1} end
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
moved(list, sealing)
return 0
`);

/** Whether \`some\` or \`all\` values are sealed; nil in a store of an earlier version. One argument, which is not looked at. */
export const SEALING = script(`
return redis.call('HGET', digest, 'sealing')
`);

/**
 * Seals what an earlier version stored. Arguments: `values` or `changes`; key, stored bytes and sealed ones by turns.
 * Before the first value it notes that the store holds sealed values; a store with a sealed value and without that note
 * has lost its digests.
 */
export const SEAL = script(`
local hash = ARGV[1] == 'values' and values or changes
if hash == values and not redis.call('HGET', digest, 'sealing') then
  local first = redis.call('HGET', values, redis.call('ZRANGE', keys, 0, 0)[1] or '')
  local is_sealed = first and string.byte(first) == ${SEAL_FORM}
  redis.call('HSET', digest, 'sealing', is_sealed and 'all' or 'some')
end
if hash == values and redis.call('HGET', digest, 'sealing') == 'all' then return 0 end
for at = 2, #ARGV, 3 do
  if redis.call('HGET', hash, ARGV[at]) == ARGV[at + 1] then redis.call('HSET', hash, ARGV[at], ARGV[at + 2]) end
end
return 0
`);

/** Time without a step after which another process may begin to count, in seconds. */
const WALK_SECONDS = 10;

/** Begins to count all keys. Argument: the id of the process. Answers 0 while another process counts. */
export const WALK_BEGIN = script(`
local now = tonumber(redis.call('TIME')[1])
local at = tonumber(redis.call('HGET', walk, 'at') or '0')
if now < at + ${WALK_SECONDS} and redis.call('HGET', walk, 'id') ~= ARGV[1] then return 0 end
redis.call('DEL', walk)
redis.call('HSET', walk, 'id', ARGV[1], 'cursor', '', 'at', now)
return 1
`);

/**
 * Counts the next keys. Arguments: the id; how many. Answers \`more\`; \`lost\` if another process has begun; after the
 * last key the digests and what was counted, each as fields and values by turns. If the keys have no digests yet, what
 * was counted becomes their digests.
 */
export const WALK_STEP = script(`${DIGESTS}
if redis.call('HGET', walk, 'id') ~= ARGV[1] then return 'lost' end
local cursor = redis.call('HGET', walk, 'cursor')
local start = cursor == '' and '-' or '(' .. cursor
local found = redis.call('ZRANGEBYLEX', keys, start, '+', 'LIMIT', 0, tonumber(ARGV[2]))
local list = {}
for at, key in ipairs(found) do list[at] = {key, 1} end
count(walk, list)
if #found == tonumber(ARGV[2]) then
  redis.call('HSET', walk, 'cursor', found[#found], 'at', redis.call('TIME')[1])
  return 'more'
end
redis.call('HDEL', walk, 'id', 'cursor', 'at')
local counted = redis.call('HGETALL', walk)
redis.call('DEL', walk)
if sealing_of() == 'some' then
  redis.call('DEL', digest)
  redis.call('HSET', digest, 'sealing', 'all', unpack(counted))
end
return {redis.call('HGETALL', digest), counted}
`);
