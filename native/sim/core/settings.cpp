#include "core/settings.h"

#include <algorithm>
#include <stdexcept>

namespace weft::sim {
namespace {

std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> parts;
  while (!text.empty()) {
    const size_t end = std::min(text.find(separator), text.size());
    parts.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return parts;
}

}  // namespace

std::string Setting::text(const std::string& field, const std::string& fallback) const {
  const auto found = fields.find(field);
  return found == fields.end() ? fallback : found->second;
}

double Setting::number(const std::string& field, double fallback) const {
  const auto found = fields.find(field);
  return found == fields.end() ? fallback : std::stod(found->second);
}

std::vector<int> Setting::integers(const std::string& field) const {
  std::vector<int> list;
  for (const std::string& item : split(text(field, ""), ',')) list.push_back(std::stoi(item));
  return list;
}

std::vector<Setting> readSettings(std::string_view lines) {
  std::vector<Setting> settings;
  for (const std::string& line : split(lines, '\n')) {
    const std::vector<std::string> parts = split(line, '\t');
    if (parts.empty()) continue;
    Setting setting{parts[0], {}};
    for (size_t i = 1; i < parts.size(); i++) {
      const size_t equals = parts[i].find('=');
      if (equals == std::string::npos) throw std::invalid_argument("a field without a value: " + parts[i]);
      setting.fields[parts[i].substr(0, equals)] = parts[i].substr(equals + 1);
    }
    settings.push_back(std::move(setting));
  }
  return settings;
}

}  // namespace weft::sim
