// Setting: a line of what a test tells the simulator, in WEFT_SIM_SETTINGS or through control.cpp: a word and
// fields, separated by tabs, as "fault\tcall=cuLaunchKernel\tnth=3". The words: Simulator::obey.
#pragma once
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace weft::sim {

struct Setting {
  std::string word;
  std::map<std::string, std::string> fields;

  // Those that are not given are the fallback. Throw std::invalid_argument for what is no number.
  std::string text(const std::string& field, const std::string& fallback) const;
  double number(const std::string& field, double fallback) const;
  // Integers with commas between them.
  std::vector<int> integers(const std::string& field) const;
};

// Throws std::invalid_argument for a field without "=".
std::vector<Setting> readSettings(std::string_view lines);
}  // namespace weft::sim
