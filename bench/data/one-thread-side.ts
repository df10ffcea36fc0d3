import type { Table } from 'apache-arrow';
import { RawSide } from './raw-side.ts';
import { arrow } from './rows.ts';

/** The same client, which receives the rows of a scan on the thread that works with them. */
export class OneThreadSide extends RawSide {
  override readonly name = 'arrowgate, one thread';

  override async scan(table: string): Promise<Table> {
    return arrow.tableFromIPC(await this.ask(table, 'query', {}));
  }
}
