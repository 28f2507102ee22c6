// SPDX-License-Identifier: MIT
// planted_kept.cc NAME [fixed] - like planted.c: what could be kept, and what is kept too long.
#include <climits>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include <unistd.h>

#define APART __attribute__((noinline))

namespace
{

bool is_fixed;
volatile long sink;

APART long mixed(long x)
{
	for (int i = 0; i < 1500; i++)
		x = x * 1103515245 + 12345;
	return x & 1023;
}

/* --- resolves: the path of each item, all of one directory --- */

APART bool is_inside(const std::string &folder, const std::string &path)
{
	static std::string known;
	char buffer[PATH_MAX], parent[PATH_MAX];

	if (is_fixed) {
		if (known.empty() && realpath(folder.c_str(), buffer))
			known = buffer;
		return path.compare(0, folder.size(), folder) == 0 && !known.empty();
	}
	return realpath(folder.c_str(), parent) && realpath(path.c_str(), buffer) &&
	       std::string(buffer).rfind(parent, 0) == 0;
}

std::string here()
{
	char buffer[PATH_MAX];

	return getcwd(buffer, sizeof(buffer)) ? buffer : "/";
}

void resolves()
{
	const std::string folder = here();

	for (int i = 0; i < 60000; i++)
		sink += is_inside(folder, folder + (i % 2 ? "/words" : "/words2")) + mixed(i);
}

/* Healthy: it asks for the target of each link, as ls -l does. */
APART long target_length(const std::string &path)
{
	char buffer[PATH_MAX];

	return readlink(path.c_str(), buffer, sizeof(buffer));
}

void links()
{
	const std::string path = "/proc/self/exe";

	for (int i = 0; i < 200000; i++)
		sink += target_length(path) + (i % 64 ? i : mixed(i));
}

/* --- sessions: some are never removed, and the map of all becomes slow --- */

struct Session {
	char token[200];
	int user;
};

std::unordered_map<long, Session *> sessions_all;

APART void session_open(long id)
{
	Session *session = new Session;

	snprintf(session->token, sizeof(session->token), "token %ld", id);
	session->user = (int)(id % 100);
	sessions_all[id] = session;
}

APART void session_end(long id)
{
	auto it = sessions_all.find(id);

	if (it == sessions_all.end() || (!is_fixed && it->second->user % 10 == 3))
		return;
	delete it->second;
	sessions_all.erase(it);
}

void sessions()
{
	for (long i = 0; i < 2000000; i++) {
		session_open(i);
		if (i >= 500)
			session_end(i - 500);
	}
	sink += (long)sessions_all.size();
}

/* --- tickets: each takes new blocks, though there are never more than a few --- */

APART void ticket_open(long id)
{
	Session *session = new Session;

	session->user = (int)(id % 100);
	sessions_all[id] = session;
}

APART void ticket_end(long id)
{
	auto it = sessions_all.find(id);

	delete it->second;
	sessions_all.erase(it);
}

/* The blocks of the old one serve the new one. */
APART void ticket_renew(long id, long next)
{
	auto node = sessions_all.extract(id);

	node.key() = next;
	node.mapped()->user = (int)(next % 100);
	sessions_all.insert(std::move(node));
}

void tickets()
{
	for (long i = 0; i < 4000000; i++) {
		if (is_fixed && i >= 50) {
			ticket_renew(i - 50, i);
			continue;
		}
		ticket_open(i);
		if (i >= 50)
			ticket_end(i - 50);
	}
	sink += (long)sessions_all.size();
}

/* --- grows: the move constructor may throw, so that a vector copies when it grows --- */

struct Track {
	std::string title;
	std::vector<int> beats;
	std::map<int, int> tags;

	explicit Track(int i)
	    : title("track number " + std::to_string(i) + " of the album"), beats(16, i),
	      tags({ { i, 1 }, { i + 1, 2 }, { i + 2, 3 } })
	{
	}
	Track(const Track &) = default;
	Track(Track &&from)
	    : title(std::move(from.title)), beats(std::move(from.beats)), tags(std::move(from.tags))
	{
	}
};

APART std::vector<Track> album_load(int count)
{
	std::vector<Track> tracks;

	if (is_fixed)
		tracks.reserve((size_t)count);
	for (int i = 0; i < count; i++)
		tracks.push_back(Track(i));
	return tracks;
}

void grows()
{
	for (int i = 0; i < 18; i++)
		for (const Track &track : album_load(33000))
			sink += (long)(track.title.size() + track.beats.size());
}

const struct {
	const char *name;
	void (*run)();
} programs[] = {
	{ "resolves", resolves }, { "links", links }, { "sessions", sessions },
	{ "tickets", tickets },	  { "grows", grows },
};

} // namespace

int main(int argc, char **argv)
{
	is_fixed = argc > 2;
	for (const auto &program : programs)
		if (argc > 1 && strcmp(program.name, argv[1]) == 0) {
			program.run();
			return 0;
		}
	return 2;
}
