/* SPDX-License-Identifier: MIT */
/*
 * account.c - see account.h.
 */
#include "report/read/account.h"

#include <string.h>
#include <sys/wait.h>

#include "report/base/memory.h"
#include "report/read/model.h"

static uint64_t beyond(uint64_t a, uint64_t b)
{
	return a > b ? a - b : 0;
}

static struct hp_model_run *run_new(struct hp_model *model, const char name[16])
{
	struct hp_model_run *run;

	model->runs =
		hp_xgrow(model->runs, model->run_count, &model->run_room, sizeof(*model->runs));
	run = &model->runs[model->run_count++];
	*run = (struct hp_model_run){ .pid = 0 };
	memcpy(run->name, name, 16);
	return run;
}

static void sums_read(struct hp_model *model, uint64_t at)
{
	struct hp_run record;

	for (; hp_reader_step(&model->reader, at, &record, sizeof(record)); at = record.next) {
		struct hp_model_run *run = run_new(model, record.name);

		run->count = record.count;
		run->failed = record.failed;
		run->unknown = record.unknown;
		run->status = record.status;
		run->dropped = record.dropped;
		run->again = record.again;
		run->wall_ns = hp_model_ns(model, record.ticks) + record.lead_ns;
		run->cpu_ns = record.cpu_ns;
		run->peak_rss_kb = record.peak_rss_kb;
		run->minor_faults = record.minor_faults;
		run->major_faults = record.major_faults;
		run->start_ns = record.start_us * 1000;
		run->switches = record.switches;
		/* Earlier versions did not record the others. */
		run->unmeasured = record.unmeasured ? record.unmeasured : record.unknown;
		run->lacks_cpu = run->lacks_peak = run->unmeasured != 0;
	}
}

/* Its process continued as another image or in another segment. */
static bool goes_on(const struct hp_process *record)
{
	return record->ending == HP_ENDING_EXEC || record->ending == HP_ENDING_DROP;
}

/* How it ended: from its own record or from the process that waited for it, the root's runner or
 * its parent. */
static void end_set(const struct hp_model *model, struct hp_model_run *run,
		    const struct hp_process *record, uint32_t waited)
{
	const struct hp_header *header = &model->reader.header;
	bool is_root = run->is_root && header->status_known && !goes_on(record);
	bool is_told = is_root || (record->ending == HP_ENDING_NONE && waited);
	int32_t status = W_EXITCODE(record->exit_code & 0xff, 0);

	if (is_told)
		status = is_root ? (int32_t)header->root_status : (int32_t)(waited - 1);
	run->running = !record->end_ticks && !(is_told && !is_root);
	if (run->running || goes_on(record))
		return;
	run->unmeasured = record->ending == HP_ENDING_NONE;
	run->unknown = !is_told && record->ending == HP_ENDING_NONE;
	run->failed = !run->unknown && status != 0;
	run->status = run->failed ? status : 0;
}

static struct hp_model_run *image_read(struct hp_model *model, const struct hp_process *record,
				       const char name[16], uint32_t waited, uint64_t end_ticks)
{
	struct hp_model_run *run = run_new(model, name);

	run->pid = record->pid;
	run->count = 1;
	run->is_root = record->pid == model->reader.header.root_pid;
	run->wall_ns = hp_model_ns(model, beyond(record->end_ticks ? record->end_ticks : end_ticks,
						 record->start_ticks));
	end_set(model, run, record, waited);
	run->lacks_cpu = run->lacks_peak = !record->end_ticks || !record->ending;
	run->dropped = record->ending == HP_ENDING_DROP;
	return run;
}

/* From a version without accounts: uses its record, which covers everything folded into it. */
static void old_read(struct hp_model *model, const struct hp_process *record, uint64_t end_ticks)
{
	struct hp_model_run *run = image_read(model, record, record->comm, 0, end_ticks);

	run->count += record->folded;
	run->unknown += record->folded;
	run->unmeasured += record->folded;
	run->wall_ns += hp_model_ns(model, record->folded_ticks);
	run->cpu_ns = record->cpu_ns;
	run->lacks_cpu = run->lacks_peak = true;
}

static bool account_copy(struct hp_model *model, const struct hp_process *record,
			 struct hp_account *account)
{
	return record->account &&
	       hp_reader_copy(&model->reader, (uint64_t)record->account * HP_LINE, account,
			      sizeof(*account));
}

uint64_t hp_account_lead(struct hp_model *model, const struct hp_process *record)
{
	struct hp_account account;

	return account_copy(model, record, &account) ? account.lead_ticks : 0;
}

void hp_account_read(struct hp_model *model, const struct hp_process *record, uint64_t end_ticks)
{
	static const char none[16];
	struct hp_account account;
	struct hp_model_run *run;
	bool is_lost;

	if (!account_copy(model, record, &account)) {
		old_read(model, record, end_ticks);
		return;
	}
	sums_read(model, account.runs);
	if (account.is_joined)
		return;
	is_lost = account.began == HP_BEGAN_FORK && record->ending == HP_ENDING_EXEC &&
		  record->end_ticks;
	run = image_read(model, record, is_lost ? none : account.name, account.waited, end_ticks);
	run->again = account.began == HP_BEGAN_AGAIN;
	run->count = !run->again;
	run->base_cpu_ns = account.base_cpu_ns;
	run->wall_ns += hp_model_ns(model, account.lead_ticks) + account.lead_ns;
	run->cpu_ns = account.cpu_ns;
	run->peak_rss_kb = account.peak_rss_kb;
	run->minor_faults = account.minor_faults;
	run->major_faults = account.major_faults;
	run->start_ns = (uint64_t)account.start_us * 1000;
	run->switches = account.switches;
	run->lacks_peak |= !account.peak_rss_kb;
	/* Under a seccomp filter it does not ask the kernel at its end. */
	if (record->end_ticks && !account.cpu_ns) {
		run->lacks_cpu = true;
		run->unmeasured |= !goes_on(record);
	}
	if (run->is_root && account.children_cpu_ns > model->children_cpu_ns)
		model->children_cpu_ns = account.children_cpu_ns;
}
