#include "cpu/sparse-tree.h"

#include <algorithm>
#include <numeric>

namespace weft::cpu {
namespace {

using Steps = Line<int64_t>;

size_t sized(int64_t count) {
  // gcc 12 otherwise warns of a vector of -2 elements.
  if (count < 0) __builtin_unreachable();
  return static_cast<size_t>(count);
}

// For each key below `n` the values that have it, in their order.
struct Lists {
  Steps starts, values;
  int64_t begin(int64_t k) const { return starts[k]; }
  int64_t end(int64_t k) const { return starts[k + 1]; }
};

template <typename Key, typename Value>
Lists listsOf(int64_t n, int64_t count, const Key& key, const Value& value) {
  Lists lists{Steps(sized(n) + 1, 0), Steps(sized(count))};
  for (int64_t k = 0; k < count; k++) lists.starts[key(k) + 1]++;
  std::partial_sum(lists.starts.begin(), lists.starts.end(), lists.starts.begin());
  Steps next(lists.starts.begin(), lists.starts.end() - 1);
  for (int64_t k = 0; k < count; k++) lists.values[next[key(k)]++] = value(k);
  return lists;
}

// The steps before each one that it meets.
Lists earlierOf(const Pairs& pairs, const Steps& places) {
  const auto place = [&](const Steps& line, int64_t k) { return places[line[k]]; };
  return listsOf(
      static_cast<int64_t>(places.size()), static_cast<int64_t>(pairs.rows.size()),
      [&](int64_t k) { return std::max(place(pairs.rows, k), place(pairs.columns, k)); },
      [&](int64_t k) { return std::min(place(pairs.rows, k), place(pairs.columns, k)); });
}

// The elimination tree, by shortened paths (Liu, "The role of elimination trees in sparse factorization",
// 1990).
Steps eliminationTree(const Lists& earlier, int64_t n) {
  Steps parents(sized(n), -1), ancestors(sized(n), -1);
  for (int64_t k = 0; k < n; k++) {
    for (int64_t i = earlier.begin(k); i < earlier.end(k); i++) {
      for (int64_t j = earlier.values[i]; j >= 0 && j < k;) {
        const int64_t next = ancestors[j];
        ancestors[j] = k;
        if (next < 0) parents[j] = k;
        j = next;
      }
    }
  }
  return parents;
}

// Nodes in an order in which each follows its children at once.
Steps postorder(const Steps& parents) {
  const auto n = static_cast<int64_t>(parents.size());
  Steps heads(sized(n) + 1, -1), next(sized(n)), order, stack;
  order.reserve(sized(n));
  for (int64_t k = n - 1; k >= 0; k--) {
    int64_t& head = heads[parents[k] < 0 ? n : parents[k]];
    next[k] = head;
    head = k;
  }
  // The last head is that of the roots.
  for (int64_t root = heads[n]; root >= 0; root = next[root]) {
    stack.push_back(root);
    while (!stack.empty()) {
      int64_t& child = heads[stack.back()];
      if (child >= 0) {
        stack.push_back(child);
        child = next[child];
      } else {
        order.push_back(stack.back());
        stack.pop_back();
      }
    }
  }
  return order;
}

// Elements below the diagonal of each column of the Cholesky factor: rows of it are subtrees.
Steps columnCounts(const Lists& earlier, const Steps& parents) {
  const auto n = static_cast<int64_t>(parents.size());
  Steps counts(sized(n), 0), marks(sized(n), -1);
  for (int64_t k = 0; k < n; k++) {
    marks[k] = k;
    for (int64_t i = earlier.begin(k); i < earlier.end(k); i++)
      for (int64_t j = earlier.values[i]; marks[j] != k; j = parents[j]) {
        marks[j] = k;
        counts[j]++;
      }
  }
  return counts;
}

// Columns [first, last) as a front.
struct Group {
  int64_t first, last;
  // Elements of the factor that are not 0.
  double elements;
};

double elementsOf(int64_t width, int64_t border) {
  return static_cast<double>(width) * (static_cast<double>(width + 1) / 2 + static_cast<double>(border));
}

// Whether a front of so many columns is worth so large a part of zeros: a few are cheaper than another front.
bool isWorth(int64_t width, double zeros) {
  return width <= 4 || (width <= 16 && zeros < 0.8) || (width <= 48 && zeros < 0.1) || zeros < 0.05;
}

// Columns that follow their only child with one row less, then fronts with children that reach up to them.
Line<Group> groupsOf(const Steps& parents, const Steps& counts) {
  const auto n = static_cast<int64_t>(parents.size());
  Line<Group> groups;
  for (int64_t first = 0; first < n;) {
    int64_t last = first + 1;
    while (last < n && parents[last - 1] == last && counts[last] == counts[last - 1] - 1) last++;
    const int64_t border = counts[last - 1];
    Group own{first, last, elementsOf(last - first, border)};
    while (!groups.empty()) {
      const Group& child = groups.back();
      const int64_t parent = parents[child.last - 1];
      if (parent < first || parent >= last) break;
      const double elements = own.elements + child.elements;
      const double dense = elementsOf(last - child.first, border);
      if (!isWorth(last - child.first, 1 - elements / dense)) break;
      own = {child.first, last, elements};
      groups.pop_back();
    }
    groups.push_back(own);
    first = last;
  }
  return groups;
}

// The later steps that columns of a front meet, in order.
void addBorder(FrontTree& tree, int64_t front, const Lists& later, const Lists& children, Steps& marks) {
  const int64_t first = tree.firsts[front], last = tree.firsts[front + 1];
  const auto begin = static_cast<std::ptrdiff_t>(tree.borders.size());
  const auto add = [&](int64_t step) {
    if (step < last || marks[step] == front) return;
    marks[step] = front;
    tree.borders.push_back(step);
  };
  for (int64_t i = later.begin(first); i < later.begin(last); i++) add(later.values[i]);
  for (int64_t c = children.begin(front); c < children.end(front); c++) {
    const int64_t child = children.values[c];
    for (int64_t i = tree.starts[child]; i < tree.starts[child + 1]; i++) add(tree.borders[i]);
  }
  std::sort(tree.borders.begin() + begin, tree.borders.end());
  tree.starts.push_back(static_cast<int64_t>(tree.borders.size()));
}

}  // namespace

double FrontTree::work(int64_t front) const {
  const auto k = static_cast<double>(width(front)), b = static_cast<double>(border(front));
  return k * (k * k / 3 + k * b + b * b);
}

FrontTree frontTree(const Pairs& pairs, const int64_t* order, int64_t n) {
  Steps places(sized(n));
  const auto placeAll = [&](const auto& unknowns) {
    for (int64_t k = 0; k < n; k++) places[unknowns[k]] = k;
  };
  placeAll(order);
  const Steps steps = postorder(eliminationTree(earlierOf(pairs, places), n));
  FrontTree tree;
  for (const int64_t step : steps) tree.unknowns.push_back(order[step]);
  placeAll(tree.unknowns);
  const Lists earlier = earlierOf(pairs, places);
  const Steps parents = eliminationTree(earlier, n);
  const Line<Group> groups = groupsOf(parents, columnCounts(earlier, parents));
  const auto fronts = static_cast<int64_t>(groups.size());
  Steps frontOf(sized(n));
  tree.firsts.push_back(0);
  for (int64_t front = 0; front < fronts; front++) {
    const Group& group = groups[front];
    std::fill(frontOf.begin() + group.first, frontOf.begin() + group.last, front);
    tree.firsts.push_back(group.last);
  }
  for (const Group& group : groups) {
    const int64_t parent = parents[group.last - 1];
    tree.parents.push_back(parent < 0 ? -1 : frontOf[parent]);
  }
  const Lists later = listsOf(
      n, static_cast<int64_t>(pairs.rows.size()),
      [&](int64_t k) { return std::min(places[pairs.rows[k]], places[pairs.columns[k]]); },
      [&](int64_t k) { return std::max(places[pairs.rows[k]], places[pairs.columns[k]]); });
  const Lists children = listsOf(
      fronts + 1, fronts, [&](int64_t k) { return tree.parents[k] < 0 ? fronts : tree.parents[k]; },
      [](int64_t k) { return k; });
  Steps marks(sized(n), -1);
  tree.starts.push_back(0);
  for (int64_t front = 0; front < fronts; front++) addBorder(tree, front, later, children, marks);
  return tree;
}

}  // namespace weft::cpu
