// Points of sweeps and searches: step time against memory, the front of both, and a row a point.
import { chart, axis_style, tooltip_style } from '../charts/chart.js';
import { element, long_table, section } from '../dom.js';
import { bytes, escape, number, percent, resource, seconds } from '../format.js';
import { color } from '../theme.js';

// Those that no other beats in both time and memory, by time.
function front_of(points) {
  let least = Infinity;
  return [...points].sort((a, b) => a.step_time_s - b.step_time_s || a.peak_memory_bytes - b.peak_memory_bytes).filter((p) => {
    if (p.peak_memory_bytes >= least) return false;
    least = p.peak_memory_bytes;
    return true;
  });
}

function plot(points, front) {
  const one = (p) => ({ value: [p.peak_memory_bytes, p.step_time_s], point: p });
  const series = [['fits in memory', points.filter((p) => p.fits), 'compute', 'circle'], ['does not fit', points.filter((p) => !p.fits), 'faint', 'diamond']];
  return chart(`Step time against memory of ${points.length} points`, 420, (width) => ({
    grid: { left: 8, right: 24, top: width < 500 ? 56 : 34, bottom: 44, containLabel: true },
    legend: { top: 0, left: 0, textStyle: { color: color('ink'), fontSize: 12 } },
    tooltip: {
      ...tooltip_style(),
      formatter: ({ data }) => (data.point
        ? `<b>${escape(data.point.label)}</b><br>step ${seconds(data.point.step_time_s)}, ${number(data.point.tokens_per_s_per_gpu)} tokens/s/GPU<br>memory ${bytes(data.point.peak_memory_bytes)}`
        : 'front'),
    },
    xAxis: { type: 'value', scale: true, name: 'memory of the fullest GPU', nameLocation: 'middle', nameGap: 26, ...axis_style(), axisLabel: { ...axis_style().axisLabel, formatter: bytes } },
    yAxis: { type: 'log', name: 'step', ...axis_style(), axisLabel: { ...axis_style().axisLabel, formatter: seconds } },
    series: [
      { name: 'front', type: 'line', step: 'end', symbol: 'none', lineStyle: { color: color('ink'), width: 1.5 }, itemStyle: { color: color('ink') }, data: front.map((p) => [p.peak_memory_bytes, p.step_time_s]).reverse() },
      ...series.filter(([, list]) => list.length).map(([name, list, hue, symbol]) => ({ name, type: 'scatter', symbol, symbolSize: 9, itemStyle: { color: color(hue), opacity: 0.75 }, data: list.map(one) })),
    ],
  }));
}

export function results_view(page, data) {
  const done = data.rows.filter((r) => r.ending === 'done');
  const others = data.rows.filter((r) => r.ending !== 'done');
  const ranked = [...done].sort((a, b) => b.fits - a.fits || b.tokens_per_s_per_gpu - a.tokens_per_s_per_gpu);
  const front = front_of(done);
  const share = (r) => (r.compute_share === null ? '–' : ['compute', 'exposed_communication', 'wait', 'bubble'].map((s) => Math.round(100 * r[`${s}_share`])).join('/'));
  const columns = [['point', 'left'], ['step'], ['tokens/s/GPU'], ['MFU'], ['split'], ['memory'], ['bound by', 'left']];
  const row = (r) => [r.label, seconds(r.step_time_s), number(r.tokens_per_s_per_gpu), percent(r.mfu), share(r), bytes(r.peak_memory_bytes) + (r.fits ? '' : ' (does not fit)'), r.bound_by === null ? '–' : resource(r.bound_by)];
  const best = ranked[0];
  page.append(
    element('header', { class: 'verdict' }, element('p', { class: 'name' }, data.title),
      element('h1', {}, best ? `Best: ${best.label}, ${seconds(best.step_time_s)}` : 'No point has a result'),
      element('p', { class: 'why' }, `${data.rows.length} points, ${done.length} simulated, ${done.filter((r) => !r.fits).length} of them do not fit in memory.`)),
  );
  if (done.length === 0) return;
  page.append(
    section('Step time against memory', 'The line joins the points that no other beats in both.', plot(done, front)),
    section('Points', 'Those that fit first, then by tokens/s/GPU. Split: percent of the step in compute/exposed communication/wait/bubble, mean of all GPUs.',
      long_table('Points', columns, ranked.map(row), 24)),
  );
  if (others.length) page.append(section('Without a result', null, long_table('Points without a result', [['point', 'left'], ['ending', 'left'], ['why', 'left']], others.map((r) => [r.label, r.ending, String(r.error ?? '').split('\n')[0]]), 8)));
}
