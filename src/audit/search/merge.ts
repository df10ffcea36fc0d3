/** A stream of items with sort keys. */
interface OrderedStream<Item> {
  /** Lower bound of the stream's keys. */
  readonly from: string;
  batches(): AsyncGenerator<readonly Item[]>;
}

interface Open<Item> {
  readonly batches: AsyncGenerator<readonly Item[]>;
  items: readonly Item[];
  at: number;
}

/** Items per batch. */
const BATCH_ITEMS = 1024;

/** Merges ordered streams. A stream is opened when the merge reaches its lower bound. */
export async function* mergeOrdered<Item>(
  streams: readonly OrderedStream<Item>[],
  keyOf: (item: Item) => string,
): AsyncGenerator<readonly Item[]> {
  const waiting = streams.toSorted((one, other) => (one.from < other.from ? -1 : 1));
  const open: Open<Item>[] = [];
  let batch: Item[] = [];
  for (;;) {
    let next = least(open, keyOf);
    for (let stream = waiting[0]; stream !== undefined; stream = waiting[0]) {
      if (next !== undefined && stream.from > keyOf(itemOf(next))) break;
      waiting.shift();
      await begin(stream, open);
      next = least(open, keyOf);
    }
    if (next === undefined) break;
    batch.push(itemOf(next));
    if (batch.length === BATCH_ITEMS) {
      yield batch;
      batch = [];
    }
    if (!(await advance(next))) open.splice(open.indexOf(next), 1);
  }
  if (batch.length > 0) yield batch;
}

async function begin<Item>(stream: OrderedStream<Item>, open: Open<Item>[]): Promise<void> {
  const begun: Open<Item> = { batches: stream.batches(), items: [], at: -1 };
  if (await advance(begun)) open.push(begun);
}

/** Advances to the next item. @returns False at the end. */
async function advance<Item>(open: Open<Item>): Promise<boolean> {
  open.at += 1;
  while (open.at >= open.items.length) {
    const next = await open.batches.next();
    if (next.done === true) return false;
    open.items = next.value;
    open.at = 0;
  }
  return true;
}

function least<Item>(
  open: readonly Open<Item>[],
  keyOf: (item: Item) => string,
): Open<Item> | undefined {
  let [found] = open;
  for (const each of open) {
    if (found === undefined || keyOf(itemOf(each)) < keyOf(itemOf(found))) found = each;
  }
  return found;
}

function itemOf<Item>({ items, at }: Open<Item>): Item {
  return items[at]!;
}
