-- Drive citebed's language server in Neovim; write what it answers to $OUT as JSON.
local out = {}
local function finish(problem)
  out.problem = problem
  local file = io.open(os.getenv("OUT"), "w")
  file:write(vim.json and vim.json.encode(out) or vim.fn.json_encode(out))
  file:close()
  vim.cmd("qa!")
end

local function run()
  local ready = false
  local command = { os.getenv("PYTHON"), "-m", "citebed", "lsp", "--collection", os.getenv("LIBRARY") }
  vim.cmd("edit main.tex")
  local id = vim.lsp.start_client({
    name = "citebed", cmd = command, root_dir = vim.fn.getcwd(),
    handlers = {
      ["window/logMessage"] = function(_, result)
        ready = ready or result.message:find("is open") ~= nil
      end,
    },
  })
  vim.lsp.buf_attach_client(0, id)
  if not vim.wait(60000, function() return ready end, 50) then
    return "the collection was not opened"
  end
  local function request(method, more)
    local params = vim.tbl_extend("force", vim.lsp.util.make_position_params(), more or {})
    local answers = vim.lsp.buf_request_sync(0, method, params, 20000)
    return answers and answers[id] and answers[id].result
  end
  vim.fn.search("\\\\cite{")
  vim.cmd("normal! f{")
  vim.api.nvim_feedkeys("asuffix", "xt", false)
  local line = vim.api.nvim_get_current_line()
  local column = line:find("suffix") + 5
  local params = vim.lsp.util.make_position_params()
  local _, position = vim.str_utfindex(line, column)
  params.position.character = position
  local answers = vim.lsp.buf_request_sync(0, "textDocument/completion", params, 20000)
  local list = answers and answers[id] and answers[id].result
  if not list or not list.items or #list.items == 0 then
    return "no completion items"
  end
  out.label = list.items[1].label
  vim.lsp.util.apply_text_edits({ list.items[1].textEdit }, 0, "utf-16")
  out.after = vim.api.nvim_get_current_line()
  vim.api.nvim_win_set_cursor(0, { vim.fn.line("."), (out.after:find("porter")) })
  local hover = request("textDocument/hover")
  out.hover = hover and hover.contents.value
  -- until the server has checked the completed text, it reports the text before
  vim.wait(20000, function()
    local found = vim.diagnostic.get(0)
    out.diagnostic = found[1] and found[1].message
    return out.diagnostic and out.diagnostic:find("porter")
  end, 50)
  local range = vim.lsp.util.make_range_params().range
  local actions = request("textDocument/codeAction", { range = range, context = { diagnostics = {} } })
  out.action = actions and actions[1] and actions[1].title
  if actions and actions[1] then
    vim.lsp.util.apply_workspace_edit(actions[1].edit, "utf-16")
    out.bib = table.concat(vim.api.nvim_buf_get_lines(vim.fn.bufnr("refs.bib"), 0, -1, false), "\n")
  end
end

local fine, problem = pcall(run)
finish(problem or (not fine and "failed" or nil))
