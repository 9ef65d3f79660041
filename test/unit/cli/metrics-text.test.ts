import { describe, expect, test } from 'vitest';
import { metricsText } from '../../../src/cli/output/metrics-text.ts';

// COVERAGE 14, 117
describe('metrics, whose shape is not documented', () => {
  test('are a line per number when they are a list of samples', () => {
    const samples = [1, 2, 3, 4].map((cpu, index) => ({ at: 1000 * index, cpuCores: cpu, gpuPercent: null }));
    const text = metricsText({ minutes: 15, note: 'made up', samples });
    expect(text).toContain('made up');
    expect(text).toMatch(/^cpuCores +4 +1 +2\.50 +4 +▃▅▇█$/m);
    expect(text).not.toContain('gpuPercent');
    expect(text).not.toMatch(/^at /m);
  });

  test('are found under any name, and at the top', () => {
    expect(metricsText({ data: [{ timestamp: 1, memoryGb: 2 }] })).toContain('memoryGb');
    expect(metricsText([{ ts: 1, memoryGb: 2 }])).toContain('memoryGb');
  });

  test('are said to be none when the list is empty', () => {
    expect(metricsText({ samples: [] })).toBe('No samples.');
  });

  test.each([[{ cpu: { average: 0.5 } }], ['text'], [17], [null], [{ points: [[1, 2]] }]])(
    'are shown as they came when they are %j',
    (answer) => {
      expect(JSON.parse(metricsText(answer))).toEqual({ metrics: answer });
    },
  );

  test('bring no control characters of their names', () => {
    expect(metricsText({ samples: [{ 'a\u001b[31m': 1 }] })).not.toContain('\u001b');
  });
});
