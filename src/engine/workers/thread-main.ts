// The main module of a pool thread. Runs tasks concurrently, each with back pressure.
import { parentPort } from 'node:worker_threads';
import { RequestBudget, unboundedBudget } from '../../protocol/budget.ts';
import { hintCollection } from '../format/memory/memory-budget.ts';
import { FragmentReader } from '../query/scan/fragment-reader.ts';
import { faultMessage, type RowsReply, type FromThread, type Task, type ToThread } from './task.ts';
import { LocalStorage } from '../../storage/local-storage.ts';
import { giveWay } from '../../store/process-mark.ts';
import type { AskCaller } from './caller-rows.ts';
import { runTask } from './thread-tasks.ts';

/** Lets one pass for each time that it was opened. */
class Turnstile {
  #open = 0;
  #waiting: (() => void) | undefined;

  open(): void {
    if (this.#waiting === undefined) {
      this.#open++;
      return;
    }
    const pass = this.#waiting;
    this.#waiting = undefined;
    pass();
  }

  /** Resolves when it is open. One can wait at a time. */
  async pass(): Promise<void> {
    if (this.#open > 0) {
      this.#open--;
      return;
    }
    await new Promise<void>((resolve) => {
      this.#waiting = resolve;
    });
  }
}

interface Running {
  readonly pieces: Turnstile;
  readonly abort: AbortController;
  /** Questions to the caller that are not answered, by their number. */
  readonly calls: Map<number, (found: RowsReply) => void>;
}

giveWay();
const reader = new FragmentReader(new LocalStorage());
reader.onDamagedFile = ({ path, part }) => send({ kind: 'damage', damage: { path, part } });
const running = new Map<number, Running>();

parentPort?.on('message', (message: ToThread) => handlers[message.kind](message as never));

const handlers: {
  readonly [Kind in ToThread['kind']]: (
    message: Extract<ToThread, { readonly kind: Kind }>,
  ) => void;
} = {
  begin: ({ id, task }) => void run(id, task),
  more: ({ id }) => running.get(id)?.pieces.open(),
  rows: ({ id, call, found }) => {
    const calls = running.get(id)?.calls;
    calls?.get(call)?.(found);
    calls?.delete(call);
  },
  cancel: ({ id }) => {
    const task = running.get(id);
    const abandoned = new Error('nobody waits for the task any more');
    task?.abort.abort(abandoned);
    task?.pieces.open();
    // The caller answers no more.
    for (const answered of task?.calls.values() ?? []) answered({ fault: faultMessage(abandoned) });
  },
};

async function run(id: number, task: Task): Promise<void> {
  const pieces = new Turnstile();
  const abort = new AbortController();
  const calls: Running['calls'] = new Map();
  let lastCall = 0;
  const ask: AskCaller = (wanted) =>
    new Promise((resolve) => {
      calls.set(++lastCall, resolve);
      send({ kind: 'want', id, call: lastCall, wanted });
    });
  running.set(id, { pieces, abort, calls });
  const budget = task.budget === undefined ? unboundedBudget() : RequestBudget.of(task.budget);
  const before = budget.spent;
  try {
    for await (const bytes of runTask(task, reader, { signal: abort.signal, budget, ask })) {
      await pieces.pass();
      abort.signal.throwIfAborted();
      send({ kind: 'piece', id, bytes }, [bytes.buffer]);
    }
    send({ kind: 'end', id, spent: budget.spent - before });
  } catch (error) {
    send({ kind: 'fault', id, spent: budget.spent - before, fault: faultMessage(error) });
  } finally {
    running.delete(id);
    if (running.size === 0) await idle();
  }
}

/** Files that stay open keep their space, even when nothing names them any more; so does memory. */
async function idle(): Promise<void> {
  await reader.close();
  hintCollection(Infinity);
}

function send(message: FromThread, memory: readonly ArrayBuffer[] = []): void {
  parentPort?.postMessage(message, [...memory]);
}
