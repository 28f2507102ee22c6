/* SPDX-License-Identifier: MIT */
/*
 * document.h - the JSON schema of the report and of the answers over HTTP.
 */
#ifndef HP_LIVE_MCP_DOCUMENT_H
#define HP_LIVE_MCP_DOCUMENT_H

#include <stdio.h>

/*
 * The schema of the report, with those of the answers over HTTP in $defs, by path; one definition a
 * line.  It is committed as doc/reference/answers.schema.json (scripts/check-generated.sh).
 */
void hp_mcp_document_write(FILE *out);

#endif
