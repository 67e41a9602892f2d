/** An Electron application that imports the module which is its last argument, and ends. */
const { app } = require('electron');
const { pathToFileURL } = require('node:url');

app
  .whenReady()
  .then(() => import(pathToFileURL(process.argv.at(-1)).href))
  .then(
    () => app.exit(0),
    (error) => {
      console.error(error);
      app.exit(1);
    },
  );
