import type { Handler } from '../handler.ts';
import { attended, whenMuchIsRead } from '../query/attended.ts';
import { answerSizes } from '../query/answer-sizes.ts';
import { fileAnswer, rowsAnswer } from '../query/answer.ts';
import { execute } from '../query/execute.ts';
import { planQuery } from '../query/plan.ts';
import { statementOf } from '../query/statement.ts';
import { parseQueryRequest } from '../query/request.ts';
import { readTable, type TableReads } from './table-reads.ts';

/** QueryTable: the rows as an Arrow file, sent while they are found. */
export function queryTable(reads: TableReads): Handler {
  let announces = true;
  return async (call) => {
    const query = parseQueryRequest(call.body);
    const snapshot = await readTable(reads, call);
    const plan = planQuery(query, snapshot, statementOf(call));
    if (reads.heavy?.isHeavyQuery(plan) === true) {
      const body = await reads.heavy.query(query, plan);
      return fileAnswer(snapshot.version, body);
    }
    return rowsAnswer({
      schema: plan.schema,
      batches: execute(plan, attended(reads.reader, whenMuchIsRead(call.request.signal))),
      version: snapshot.version,
      signal: call.request.signal,
      sizes: announces ? await answerSizes(plan, reads.reader) : null,
      // Whatever the reason, who asks again gets the rows.
      misjudged: () => {
        announces = false;
      },
      giveBack: (memory) => reads.reader.giveBack?.(memory),
    });
  };
}
