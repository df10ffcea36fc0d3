// Loaded into a gateway before its program (`--import`): sends its process a signal, SIGKILL or
// SIGSTOP, at one step of its work. A step is a call by which something leaves the process: a file that is made, written,
// flushed, renamed, linked or removed, what goes to Redis and comes from it, and the answer. The
// program itself knows nothing of this. The step is in the query of this module's address:
//   step   such as "write journal"; none counts only
//   count  the how-many-th of its kind
//   when   before, within (half of the bytes are written) or after
//   since  "start": until it listens; "armed": only what comes after a request to /healthz?armed
//   signal SIGKILL, or SIGSTOP: then the call is made, or returns, when the process continues
//   redis  the port of Redis
import fs from 'node:fs';
import http from 'node:http';
import { syncBuiltinESMExports } from 'node:module';
import net from 'node:net';

const { searchParams } = new URL(import.meta.url);
const step = searchParams.get('step');
const when = searchParams.get('when') ?? 'before';
const signal = searchParams.get('signal') ?? 'SIGKILL';
const redis = Number(searchParams.get('redis') ?? 0);
let left = Number(searchParams.get('count') ?? 1);
let counting = searchParams.get('since') === 'start';

/** @type {readonly (readonly [RegExp, string])[]} What a path holds. */
const PLACES = [
  [/\/catalog\/[^/]+$/, 'journal'],
  [/\/catalog\/processes\/[^/]+$/, 'process'],
  [/\/catalog$/, 'journal folder'],
  [/\/private\/audit(\/|$)/, 'audit'],
  [/\/_?versions\/[^/]+$/, 'manifest'],
  [/\/_?versions$/, 'manifest folder'],
  [/\/data\/[^/]+\.(arrow|lance)$/, 'rows'],
  [/\/data\/tables\/[^/]+\/data$/, 'rows folder'],
  [/\/_refs\/branches\/[^/]+$/, 'branch note'],
  [/\/_refs\/tags\/[^/]+$/, 'tag note'],
  [/\/_refs\/tags$/, 'tag folder'],
  [/\/tree\/[^/]+$/, 'branch folder'],
  [/\/deletions(\/[^/]+)?$/, 'deletions'],
  [/\/fragments\/[^/]+$/, 'list'],
  [/\/fragments$/, 'list folder'],
  [/\/indices\/[^/]+\/[^/]+$/, 'index'],
  [/\/indices(\/[^/]+)?$/, 'index folder'],
];

function placeOf(path) {
  return PLACES.find(([pattern]) => pattern.test(path))?.[1] ?? 'other';
}

function die() {
  process.kill(process.pid, signal);
}

/** Whether this is the step: then the process ends here, or when the call has been made. */
function reached(name) {
  if (!counting || name !== step) return false;
  left -= 1;
  if (left !== 0) return false;
  if (when === 'before') die();
  return true;
}

/** @type {Map<number, string>} What the open files are. */
const opened = new Map();
const original = { ...fs };

/** Puts another function in the place of one, with whatever hangs on it. */
function replace(holder, name, make) {
  const before = holder[name];
  const after = make(before);
  Object.defineProperties(after, Object.getOwnPropertyDescriptors(before));
  holder[name] = after;
}

replace(fs, 'openSync', (call) => (path, ...rest) => {
  const makes = typeof rest[0] === 'string' && /[wa]/.test(rest[0]);
  const last = makes && reached(`make ${placeOf(String(path))}`);
  const file = call(path, ...rest);
  opened.set(file, placeOf(String(path)));
  if (last) die();
  return file;
});

replace(fs, 'writevSync', (call) => (file, pieces, ...rest) => {
  if (!reached(`write ${opened.get(file)}`)) return call(file, pieces, ...rest);
  const bytes = Buffer.concat(pieces);
  original.writeSync(file, when === 'within' ? bytes.subarray(0, bytes.length >> 1) : bytes);
  return die();
});

for (const [name, verb] of [
  ['fsync', 'flush'],
  ['fdatasync', 'flush'],
  ['writev', 'write'],
]) {
  replace(fs, name, (call) => (file, ...rest) => {
    const last = reached(`${verb} ${opened.get(file)}`);
    const done = rest.pop();
    call(file, ...rest, (...outcome) => {
      if (last) die();
      done(...outcome);
    });
  });
}

for (const [name, verb, named] of [
  ['renameSync', 'rename', 1],
  ['linkSync', 'link', 1],
  ['unlinkSync', 'remove', 0],
]) {
  replace(fs, name, (call) => (...args) => {
    const last = reached(`${verb} ${placeOf(String(args[named]))}`);
    call(...args);
    if (last) die();
  });
}

for (const [name, verb, named] of [
  ['link', 'link', 1],
  ['rename', 'rename', 1],
  ['copyFile', 'copy', 1],
  ['rm', 'remove', 0],
  ['unlink', 'remove', 0],
]) {
  replace(fs.promises, name, (call) => async (...args) => {
    const last = reached(`${verb} ${placeOf(String(args[named]))}`);
    const outcome = await call(...args);
    if (last) die();
    return outcome;
  });
}

/** Files that are opened as objects: what flushes and writes them hangs on each. */
replace(fs.promises, 'open', (call) => async (path, ...rest) => {
  const file = await call(path, ...rest);
  for (const [name, verb] of [
    ['sync', 'flush'],
    ['datasync', 'flush'],
    ['write', 'write'],
    ['writeFile', 'write'],
  ]) {
    const own = file[name].bind(file);
    file[name] = async (...args) => {
      const last = reached(`${verb} ${placeOf(String(path))}`);
      const outcome = await own(...args);
      if (last) die();
      return outcome;
    };
  }
  return file;
});

replace(
  net.Socket.prototype,
  'write',
  (call) =>
    function write(...args) {
      const last = redis !== 0 && this.remotePort === redis && reached('send redis');
      const outcome = call.apply(this, args);
      if (last) die();
      return outcome;
    },
);

replace(
  net.Socket.prototype,
  'emit',
  (call) =>
    function emit(event, ...args) {
      const last =
        event === 'data' && redis !== 0 && this.remotePort === redis && reached('receive redis');
      const outcome = call.call(this, event, ...args);
      if (last) die();
      return outcome;
    },
);

replace(
  http.ServerResponse.prototype,
  'end',
  (call) =>
    function end(...args) {
      const last = reached('answer client');
      const outcome = call.apply(this, args);
      if (last) die();
      return outcome;
    },
);

replace(
  http.Server.prototype,
  'emit',
  (call) =>
    function emit(event, ...args) {
      if (event === 'request' && args[0].url === '/healthz?armed') counting = true;
      if (event === 'listening') counting = false;
      return call.call(this, event, ...args);
    },
);

syncBuiltinESMExports();
