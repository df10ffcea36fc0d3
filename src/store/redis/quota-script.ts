/** Microseconds since 2025 stay exact in the numbers of Lua to a hundredth of one. */
const EPOCH_SECONDS = 1_735_689_600;

/** Time that a counter stays listed after its use, in microseconds. Few requests then change the list. */
const LISTED_MICROS = 1_000_000;

/**
 * Limits in Redis, by the time of the server, so gateways need not agree on one. Its keys are, for each
 * charge, the counter of a rate and its slots: a sorted set of leases by the time of their end.
 *
 * `take` lease, life of a lease in microseconds, and for each charge: microseconds of one unit (0 without
 * a rate), burst, cost, slots (0 for any number). The last key is the list of counters in use. Returns
 * whether all are granted, and for each charge: microseconds to wait, units left, microseconds until it is
 * full, slots left, whether the slots are exceeded. Nothing is taken unless all are granted.
 *
 * `keep` life, and a lease for each charge: extends the leases. The last key is the list as well.
 * `give` a lease for each charge: ends the leases.
 *
 * `used` COUNT: returns at most COUNT keys of rates from the list. The list is the only key.
 * `read` returns, for each pair of keys, the microseconds until the rate is whole, and the slots that are taken.
 *
 * The list is a sorted set of keys of rates. The score is the end of use of the rate and its slots, up to a second late.
 */
export const QUOTA_SCRIPT = `
local time = redis.call('TIME')
local now = (tonumber(time[1]) - ${EPOCH_SECONDS}) * 1000000 + tonumber(time[2])
local count = math.floor(#KEYS / 2)
local list = KEYS[2 * count + 1]
local verb = ARGV[1]

local function list_until(i, moment)
  local before = tonumber(redis.call('ZSCORE', list, KEYS[2 * i - 1]) or now)
  if moment <= before then return end
  moment = moment + ${LISTED_MICROS}
  redis.call('ZREMRANGEBYSCORE', list, '-inf', string.format('%.0f', now))
  redis.call('ZADD', list, string.format('%.0f', moment), KEYS[2 * i - 1])
  local life = math.ceil((moment - now) / 1000) + 1
  if redis.call('PTTL', list) < life then
    redis.call('PEXPIRE', list, string.format('%.0f', life))
  end
end

local function lease(i, name, life)
  local key = KEYS[2 * i]
  redis.call('ZADD', key, string.format('%.0f', now + life), name)
  redis.call('PEXPIRE', key, math.ceil(life / 500))
  list_until(i, now + life)
end

if verb == 'give' then
  for i = 1, count do redis.call('ZREM', KEYS[2 * i], ARGV[1 + i]) end
  return 1
end

if verb == 'used' then
  redis.call('ZREMRANGEBYSCORE', list, '-inf', string.format('%.0f', now))
  return redis.call('ZREVRANGE', list, 0, tonumber(ARGV[2]) - 1)
end

if verb == 'read' then
  local answer = {}
  for i = 1, count do
    local full = math.max(0, tonumber(redis.call('GET', KEYS[2 * i - 1]) or now) - now)
    answer[2 * i - 1] = string.format('%.0f', math.ceil(full))
    answer[2 * i] = redis.call('ZCOUNT', KEYS[2 * i], string.format('%.0f', now), '+inf')
  end
  return answer
end

if verb == 'keep' then
  for i = 1, count do lease(i, ARGV[2 + i], tonumber(ARGV[2])) end
  return 1
end

local name, life = ARGV[2], tonumber(ARGV[3])
local granted = 1
local asks = {}
for i = 1, count do
  local at = 4 * i
  local ask = {
    interval = tonumber(ARGV[at]), burst = tonumber(ARGV[at + 1]),
    cost = tonumber(ARGV[at + 2]), slots = tonumber(ARGV[at + 3]),
    wait = 0, before = now, after = now, used = 0, busy = 0,
  }
  if ask.interval > 0 then
    local span = ask.interval * ask.burst
    local counter = tonumber(redis.call('GET', KEYS[2 * i - 1]) or now)
    ask.before = math.max(now, math.min(counter, now + span))
    ask.after = ask.before + ask.interval * ask.cost
    local wait = ask.after - now - span
    if ask.cost > 0 and wait > 0.1 then ask.wait = math.ceil(wait) end
  end
  if ask.slots > 0 then
    redis.call('ZREMRANGEBYSCORE', KEYS[2 * i], '-inf', string.format('%.0f', now))
    ask.used = redis.call('ZCARD', KEYS[2 * i])
    if ask.used >= ask.slots then ask.busy = 1 end
  end
  if ask.wait > 0 or ask.busy == 1 then granted = 0 end
  asks[i] = ask
end

local answer = {granted}
for i = 1, count do
  local ask = asks[i]
  local counter = ask.before
  if granted == 1 then
    counter = ask.after
    if ask.interval > 0 and ask.cost > 0 then
      local life = math.ceil((counter - now) / 1000) + 1
      redis.call('SET', KEYS[2 * i - 1], string.format('%.3f', counter), 'PX', string.format('%.0f', life))
      list_until(i, counter)
    end
    if ask.slots > 0 then
      lease(i, name, life)
      ask.used = ask.used + 1
    end
  end
  local left = 0
  if ask.interval > 0 then
    left = math.max(0, math.floor(ask.burst - (counter - now - 0.1) / ask.interval))
  end
  for _, value in ipairs({
    ask.wait, left, math.ceil(counter - now), math.max(0, ask.slots - ask.used), ask.busy,
  }) do answer[#answer + 1] = string.format('%.0f', value) end
end
return answer
`;
