// Plans side by side: who wins and why, then each plan by itself.
import { parts, split_chart } from '../charts/split.js';
import { element, section, table } from '../dom.js';
import { bytes, number, percent, resource, seconds } from '../format.js';
import { report_sections } from './report.js';

const weighted = (report, of) => {
  const gpus = report.ranks.reduce((sum, r) => sum + r.count, 0);
  return report.ranks.reduce((sum, r) => sum + r.count * of(r), 0) / gpus;
};

function bound_by(report) {
  const judged = report.verdict.bound === 'compute' || report.verdict.bound === 'communication';
  return judged ? resource(report.verdict.resource) : `${resource(report.roofline.bound)} (roofline)`;
}

export function compare_view(page, data) {
  const { comparison, plans } = data;
  const per_token = plans.map(({ report }) => (report.step_time_s * report.inputs.gpus) / report.tokens_per_step);
  const details = element('div', { class: 'plan', tabindex: -1 });
  const tabs = [];
  const choose = (i) => {
    tabs.forEach((tab, j) => tab.setAttribute('aria-pressed', String(j === i)));
    details.replaceChildren(...report_sections(plans[i], 'h2').flat().filter(Boolean));
  };
  plans.forEach((plan, i) => tabs.push(element('button', { type: 'button', onclick: () => choose(i) }, comparison.short_names[i])));

  const winner = comparison.winner >= 0 ? comparison.names[comparison.winner] : 'nobody';
  page.append(
    element('header', { class: 'verdict compare' }, element('p', { class: 'name' }, `${plans.length} plans side by side`), element('h1', {}, `Winner: ${winner}`),
      element('p', { class: 'why' }, comparison.text.replace(/^Winner: /, ''))),
    section('Plans', null, table('Plans; memory is the peak of the fullest GPU',
      [['plan', 'left'], ['step'], ['tokens/s/GPU'], ['MFU'], ['exposed'], ['wait'], ['bubble'], ['memory'], ['bound by', 'left'], ['GPU time a token']],
      plans.map(({ report }, i) => {
        const share = (of) => percent(weighted(report, of) / report.step_time_s);
        return [element(i === comparison.winner ? 'b' : 'span', {}, comparison.short_names[i]), seconds(report.step_time_s), number(report.tokens_per_s_per_gpu), percent(report.flops.mfu),
          share((r) => r.exposed_communication_s), share((r) => r.wait_s), share((r) => r.bubble_s), bytes(report.memory.peak_bytes) + (report.memory.fits ? '' : ' (does not fit)'), bound_by(report),
          comparison.slower[i] > 0 ? `× ${comparison.slower[i].toFixed(2)}` : '–'];
      })),
    element('p', { class: 'about' }, 'GPU time that a token takes (mean of all GPUs), and what it is spent on:'),
    split_chart('GPU time a token, plan by plan', plans.map(({ report }, i) => ({
      label: comparison.short_names[i],
      about: comparison.names[i],
      whole: per_token[i],
      values: parts.map(([, , of]) => (weighted(report, of) * report.inputs.gpus) / report.tokens_per_step),
    })), seconds)),
    element('nav', { class: 'tabs', 'aria-label': 'Plan shown below' }, tabs),
    details,
  );
  choose(Math.max(0, comparison.winner));
}
