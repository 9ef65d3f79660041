/**
 * One query to a Prometheus: `GET /api/v1/query`. The person who starts the process gives its address; no document does. It has to give
 * one number: a scalar, or a vector with one entry.
 */
import { z } from 'zod';
import type { Sensitive } from '../base/index.ts';
import { textOf, type Transport } from './transport.ts';

export interface PrometheusAddress {
  /** Without `/api/v1/query`. */
  readonly url: string;
  /** Sent as a bearer token. Read for each query, so that a rotated file is noticed. */
  readonly token: () => Sensitive<string> | undefined;
}

export type PrometheusAnswer = { readonly number: number } | { readonly problem: string };

export interface PrometheusQueries {
  /** Never rejects. */
  ask(query: string, signal: AbortSignal): Promise<PrometheusAnswer>;
  close(): Promise<void>;
}

/** How much of an answer is read, and how long it may take. */
export const prometheusLimits = { totalMs: 10_000, bodyBytes: 1024 * 1024 };

const sample = z.tuple([z.number(), z.string()]);
const answered = z.object({
  status: z.literal('success'),
  data: z.discriminatedUnion('resultType', [
    z.object({ resultType: z.literal('scalar'), result: sample }),
    z.object({ resultType: z.literal('vector'), result: z.array(z.object({ value: sample })) }),
    z.object({ resultType: z.literal('matrix') }),
    z.object({ resultType: z.literal('string') }),
  ]),
});

export function createPrometheusQueries(
  { url, token }: PrometheusAddress,
  transport: Transport,
): PrometheusQueries {
  const base = `${url.replace(/\/+$/, '')}/api/v1/query`;
  return {
    async ask(query, signal) {
      const credential = token();
      const reply = await transport.exchange(
        {
          method: 'GET',
          url: `${base}?query=${encodeURIComponent(query)}`,
          headers: {
            accept: 'application/json',
            ...(credential ? { authorization: `Bearer ${credential.reveal()}` } : {}),
          },
          body: undefined,
        },
        signal,
      );
      // The reason may name its address, which is not for whoever reads the status.
      if (reply.kind !== 'reply') return { problem: 'there is no answer from Prometheus' };
      if (reply.status !== 200) return { problem: `Prometheus answers ${reply.status}` };
      return numberIn(textOf(reply.body));
    },
    close: () => transport.close(),
  };
}

/** Its messages may repeat what is not for whoever reads the status. */
export function numberIn(body: string): PrometheusAnswer {
  const parsed = answered.safeParse(jsonIn(body));
  if (!parsed.success) return { problem: 'the answer of Prometheus is not one to a query' };
  const { data } = parsed.data;
  if (data.resultType === 'matrix' || data.resultType === 'string')
    return { problem: `the query gives a ${data.resultType}, and not one number` };
  const samples = data.resultType === 'vector' ? data.result.map(({ value }) => value) : [data.result];
  const [only] = samples;
  if (!only || samples.length !== 1)
    return { problem: `the query gives ${samples.length} numbers, and not one` };
  const text = only[1];
  const number = /^[+-]Inf$/.test(text) ? Number(`${text}inity`) : Number(text);
  return text === '' || Number.isNaN(number) ? { problem: 'the query gives no number' } : { number };
}

function jsonIn(body: string): unknown {
  try {
    return JSON.parse(body);
  } catch {
    return undefined;
  }
}
