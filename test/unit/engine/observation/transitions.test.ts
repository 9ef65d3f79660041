import { expect, test } from 'vitest';
import { Transitions } from '../../../../src/engine/observation/transitions.ts';
import { createLogger } from '../../../../src/telemetry/index.ts';

function transitions() {
  const seen: { kind: string; from: string | null; to: string | null }[] = [];
  const write = (line: string) => void seen.push(JSON.parse(line) as (typeof seen)[number]);
  return { seen, graph: new Transitions(createLogger('info', { write })) };
}

// COVERAGE 119
test('each transition between states is told once, so that the graph can be put together from the log', () => {
  const { seen, graph } = transitions();
  for (let round = 0; round < 3; round += 1) {
    graph.saw('ContainerService', undefined, 'provisioning');
    graph.saw('ContainerService', 'provisioning', 'running');
    graph.saw('ContainerService', 'running', 'running');
    graph.saw('StorageVolume', 'provisioning', 'running');
  }
  expect(seen.map(({ kind, from, to }) => [kind, from, to])).toEqual([
    ['ContainerService', null, 'provisioning'],
    ['ContainerService', 'provisioning', 'running'],
    ['StorageVolume', 'provisioning', 'running'],
  ]);
});

test('an API that makes up states without end fills neither memory nor log', () => {
  const { seen, graph } = transitions();
  for (let index = 0; index < 2000; index += 1) graph.saw('ContainerService', 'running', `state-${index}`);
  expect(seen).toHaveLength(500);
});
