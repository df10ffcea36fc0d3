import type { ReadableSpan, SpanExporter } from '@opentelemetry/sdk-trace-base';

type Result = Parameters<Parameters<SpanExporter['export']>[1]>[0];

/** An exporter that counts what it could send and what not. */
export class CountedExporter implements SpanExporter {
  readonly #exporter: SpanExporter;
  readonly #counted: (result: 'exported' | 'lost', spans: number) => void;

  constructor(
    exporter: SpanExporter,
    counted: (result: 'exported' | 'lost', spans: number) => void,
  ) {
    this.#exporter = exporter;
    this.#counted = counted;
  }

  export(spans: ReadableSpan[], done: (result: Result) => void): void {
    this.#exporter.export(spans, (result) => {
      const isSent: boolean = result.error === undefined;
      this.#counted(isSent ? 'exported' : 'lost', spans.length);
      done(result);
    });
  }

  async forceFlush(): Promise<void> {
    await this.#exporter.forceFlush?.();
  }

  async shutdown(): Promise<void> {
    await this.#exporter.shutdown();
  }
}
