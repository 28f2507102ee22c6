-- SPDX-License-Identifier: MIT
--
-- demo.lua - what `make demo` lets lua run: text, tables, closures, recursion,
-- sorting and coroutines, always in the same way.

local state = 42

local function random(below)
	state = (state * 1103515245 + 12345) % 2147483648
	return state // 65536 % below
end

-- Words from syllables, counted, most frequent first.
local function count_words(n)
	local syllables = {"ka", "to", "ri", "no", "shi", "me", "ya", "lu"}
	local text = {}
	for i = 1, n do
		text[i] = syllables[random(8) + 1] .. syllables[random(8) + 1] .. syllables[random(3) + 1]
	end
	local counts = {}
	for word in table.concat(text, " "):gmatch("%a+") do
		counts[word] = (counts[word] or 0) + 1
	end
	local words = {}
	for word in pairs(counts) do
		words[#words + 1] = word
	end
	table.sort(words, function(a, b)
		if counts[a] ~= counts[b] then
			return counts[a] > counts[b]
		end
		return a < b
	end)
	return words, counts
end

local function queens(n, row, columns, rising, falling)
	if row > n then
		return 1
	end
	local found = 0
	for column = 1, n do
		if not columns[column] and not rising[row + column] and not falling[row - column] then
			columns[column], rising[row + column], falling[row - column] = true, true, true
			found = found + queens(n, row + 1, columns, rising, falling)
			columns[column], rising[row + column], falling[row - column] = nil, nil, nil
		end
	end
	return found
end

local function primes(n)
	return coroutine.wrap(function()
		local composite = {}
		for i = 2, n do
			if not composite[i] then
				coroutine.yield(i)
				for j = i * i, n, i do
					composite[j] = true
				end
			end
		end
	end)
end

local Shape = {}
Shape.__index = Shape

function Shape.new(width, height)
	return setmetatable({width = width, height = height}, Shape)
end

function Shape:area()
	return self.width * self.height
end

Shape.__lt = function(a, b)
	return a:area() < b:area()
end

local function sort_shapes(n)
	local shapes = {}
	for i = 1, n do
		shapes[i] = Shape.new(random(1000), random(1000))
	end
	table.sort(shapes)
	return shapes[1]:area(), shapes[n]:area()
end

-- Writes a tree as text and reads it back by a parser of closures.
local function tree(depth)
	if depth == 0 then
		return random(100)
	end
	return {tree(depth - 1), tree(depth - 1)}
end

local function write(node)
	if type(node) == "number" then
		return tostring(node)
	end
	return "(" .. write(node[1]) .. " " .. write(node[2]) .. ")"
end

local function sum_of_text(text)
	local at = 1
	local function parse()
		if text:sub(at, at) == "(" then
			at = at + 1
			local left = parse()
			at = at + 1
			local right = parse()
			at = at + 1
			return left + right
		end
		local number = text:match("^%d+", at)
		at = at + #number
		return tonumber(number)
	end
	return parse()
end

local scale = tonumber(arg and arg[1]) or 1
local words, counts = count_words(40000 * scale)
print("most frequent", words[1], counts[words[1]])
print("queens", queens(7, 1, {}, {}, {}))
local last, how_many = 0, 0
for p in primes(60000 * scale) do
	last, how_many = p, how_many + 1
end
print("primes", how_many, last)
print("shapes", sort_shapes(8000 * scale))
print("tree", sum_of_text(write(tree(12))))
print("error", select(2, pcall(function()
	error("caught")
end)))
